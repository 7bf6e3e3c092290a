#include "compiler/engines/register_job/sequence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/rounding.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int32_t kNone = -1;

// Contents of the rooms of one kind of operand.
class Stream {
 public:
  Stream(TileStep::Kind kind, bool moved, int32_t rooms)
      : kind_(kind), moved_(moved), rooms_(rooms) {
    users_.fill(kNone);
  }

  // The load that `tile` needs, into *step; false if it is there already.
  // `key` tells what is loaded from all else.
  bool Load(const std::array<int64_t, 4>& key, const TileStep& tile,
            TileStep* step) {
    if (!moved_ || (loads_ > 0 && key == key_)) return false;
    key_ = key;
    room_ = loads_++ % rooms_;
    *step = tile;
    step->kind = kind_;
    step->room = room_;
    step->after.clear();
    if (users_[room_] != kNone) step->after.push_back(users_[room_]);
    return true;
  }

  int32_t room() const { return room_; }
  void Use(int32_t job) { users_[room_] = job; }

 private:
  const TileStep::Kind kind_;
  const bool moved_;
  const int32_t rooms_;
  std::array<int64_t, 4> key_ = {};
  int32_t loads_ = 0;
  int32_t room_ = 0;
  std::array<int32_t, 2> users_;  // The last job on each room.
};

std::vector<TileStep> TilesInOrder(const TileSet& tiles, bool channels_outer) {
  std::vector<TileStep> order;
  order.reserve(tiles.tiles());
  const auto h_count = static_cast<int32_t>(tiles.h->cuts.size());
  const auto w_count = static_cast<int32_t>(tiles.w->cuts.size());
  const auto c_count = static_cast<int32_t>(tiles.c->cuts.size());
  const auto add = [&](int32_t h, int32_t w, int32_t c) {
    TileStep& tile = order.emplace_back();
    tile.h = h;
    tile.w = w;
    tile.c = c;
  };
  for (int32_t outer = 0; outer < (channels_outer ? c_count : 1); ++outer) {
    for (int32_t h = 0; h < h_count; ++h) {
      for (int32_t w = 0; w < w_count; ++w) {
        if (channels_outer) {
          add(h, w, outer);
          continue;
        }
        for (int32_t c = 0; c < c_count; ++c) add(h, w, c);
      }
    }
  }
  return order;
}

class SequenceBuilder {
 public:
  SequenceBuilder(const TileSet& tiles, const TileNeeds& needs,
                  const Decision& decision)
      : tiles_(tiles),
        stores_(needs.output == Access::kMoved),
        output_rooms_(decision.output_rooms),
        constants_(TileStep::Kind::kConstants, needs.constant_bytes > 0,
                   decision.constant_rooms),
        input_(TileStep::Kind::kInput, needs.input == Access::kMoved,
               decision.input_rooms),
        input2_(TileStep::Kind::kInput2, needs.input2 == Access::kMoved,
                decision.input_rooms),
        jobs_per_tile_(CeilDiv(tiles.c->cuts[0].size(), needs.job_channels)),
        num_jobs_(CeilDiv(tiles.c->cuts.back().end, needs.job_channels)),
        order_(TilesInOrder(tiles, decision.channels_outer)) {}

  std::vector<TileStep> Build() && {
    Load(0);
    for (size_t t = 0; t < order_.size(); ++t) {
      Job(t);
      const bool late = output_rooms_ > 1;
      if (late && t > 0) Store(t - 1);
      if (t + 1 < order_.size()) Load(t + 1);
      if (!late) Store(t);
    }
    if (output_rooms_ > 1) Store(order_.size() - 1);
    return std::move(steps_);
  }

 private:
  // Steps that need not wait for the running job go first.
  void Load(size_t t) {
    const TileStep& tile = order_[t];
    const Cut& c = tiles_.c->cuts[tile.c];
    const std::array<int64_t, 4> image = {tile.h, tile.w, c.in_begin, c.in_end};
    std::array<TileStep, 3> loads;
    size_t count = 0;
    if (constants_.Load({tile.c, 0, 0, 0}, tile, &loads[count])) ++count;
    if (input_.Load(image, tile, &loads[count])) ++count;
    if (input2_.Load(image, tile, &loads[count])) ++count;
    for (const bool waits : {false, true}) {
      for (size_t i = 0; i < count; ++i) {
        const auto& after = loads[i].after;
        if ((!after.empty() && after.back() == last_job_) == waits) {
          steps_.push_back(loads[i]);
        }
      }
    }
  }

  void Job(size_t t) {
    TileStep job = order_[t];
    job.kind = TileStep::Kind::kJob;
    job.room = static_cast<int32_t>(t % static_cast<size_t>(output_rooms_));
    job.constants = constants_.room();
    job.input = input_.room();
    job.input2 = input2_.room();
    const auto first = static_cast<int32_t>(job.c * jobs_per_tile_);
    const int32_t end = std::min(first + static_cast<int32_t>(jobs_per_tile_),
                                 static_cast<int32_t>(num_jobs_));
    for (job.job_c = first; job.job_c < end; ++job.job_c) {
      job.after.clear();
      if (last_job_ != kNone) job.after.push_back(last_job_);
      last_job_ = static_cast<int32_t>(steps_.size());
      steps_.push_back(job);
    }
    jobs_.push_back(last_job_);
    constants_.Use(last_job_);
    input_.Use(last_job_);
    input2_.Use(last_job_);
  }

  void Store(size_t t) {
    if (!stores_) return;
    TileStep store = order_[t];
    store.kind = TileStep::Kind::kOutput;
    store.room = steps_[jobs_[t]].room;
    store.after.push_back(jobs_[t]);
    steps_.push_back(std::move(store));
  }

  const TileSet& tiles_;
  const bool stores_;
  const int32_t output_rooms_;
  Stream constants_;
  Stream input_;
  Stream input2_;
  const int64_t jobs_per_tile_;
  const int64_t num_jobs_;  // Of all channels.
  const std::vector<TileStep> order_;
  std::vector<int32_t> jobs_;  // Step of the last job of each tile.
  int32_t last_job_ = kNone;
  std::vector<TileStep> steps_;
};

}  // namespace

std::vector<TileStep> BuildSequence(const TileSet& tiles,
                                    const TileNeeds& needs,
                                    const Decision& decision) {
  return SequenceBuilder(tiles, needs, decision).Build();
}

int64_t RoomBytes(const TileNeeds& needs, const Decision& decision) {
  int64_t bytes = needs.constant_bytes * decision.constant_rooms;
  if (needs.input == Access::kMoved) {
    bytes += needs.input_bytes * decision.input_rooms;
  }
  if (needs.input2 == Access::kMoved) {
    bytes += needs.input_bytes * decision.input_rooms;
  }
  if (needs.output == Access::kMoved) {
    bytes += needs.output_bytes * decision.output_rooms;
  }
  return bytes;
}

void Clock::WaitFor(int64_t end) {
  if (end <= seen_) return;
  // A read sees the state at its end; there is at least one.
  int64_t reads = 1;
  if (poll_cycles_ > 0 && end > host_) {
    reads =
        std::max<int64_t>((end - host_ + poll_cycles_ - 1) / poll_cycles_, 1);
  }
  host_ =
      poll_cycles_ > 0 ? host_ + reads * poll_cycles_ : std::max(host_, end);
  seen_ = host_;
}

}  // namespace edgekiln::compiler::register_job
