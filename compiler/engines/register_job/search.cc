#include "compiler/engines/register_job/search.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/models/register_job/tile_decisions.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;
using v1::register_job::TileDecisions;

constexpr auto kDepthwise = v1::RegisterJobs::DEPTHWISE_CONVOLUTION;

// Sizes of an axis that cut it evenly into 1 .. `each` tiles, then into counts
// that grow by 1 / `growth`, and into single elements. Rising.
std::vector<int64_t> EvenSizes(int64_t extent, int64_t each, int64_t growth) {
  std::set<int64_t> sizes = {1};
  for (int64_t n = 1; n < extent;
       n = n < each ? n + 1 : n + std::max<int64_t>(n / growth, 1)) {
    sizes.insert(CeilDiv(extent, n));
  }
  return {sizes.begin(), sizes.end()};
}

// Channels in blocks of `grain`; below one block, halves of it.
std::vector<int64_t> ChannelSizes(int64_t extent, int64_t grain) {
  std::set<int64_t> sizes = {extent};
  for (const int64_t blocks : EvenSizes(CeilDiv(extent, grain), 8, 4)) {
    sizes.insert(std::min(blocks * grain, extent));
  }
  for (int64_t size = grain; size > 0; size /= 2) {
    sizes.insert(std::min(size, extent));
  }
  return {sizes.begin(), sizes.end()};
}

// The largest block of channels in a layout of the engine's.
absl::StatusOr<int64_t> GrainOf(const Placement& placement) {
  const Operation& operation = placement.operation;
  const target::JobVariables all = VariablesOfAll(operation);
  int64_t grain = 1;
  const auto add = [&](JobOperand operand, int axis) -> absl::Status {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        LayoutOf(placement, operand, all));
    for (const v1::Layout::Term& term : layout.terms()) {
      if (term.axis() == axis) grain = std::max(grain, term.modulo());
    }
    return absl::OkStatus();
  };
  EK_RETURN_IF_ERROR(add(JobOperand::kOut, 2));
  if (operation.channelwise()) EK_RETURN_IF_ERROR(add(JobOperand::kIn, 2));
  if (operation.weights != kNoTensor) {
    EK_RETURN_IF_ERROR(add(JobOperand::kWeights, 0));
  }
  return std::min(grain, operation.out.c);
}

// All tilings that the search covers, in a fixed order.
absl::StatusOr<std::vector<Tiling>> AllTilings(const Placement& placement) {
  const Operation& operation = placement.operation;
  EK_ASSIGN_OR_RETURN(const int64_t grain, GrainOf(placement));
  const std::vector<int64_t> rows = EvenSizes(operation.out.h, 8, 4);
  const std::vector<int64_t> columns = EvenSizes(operation.out.w, 4, 2);
  std::vector<Tiling> tilings;
  std::vector<int64_t> sizes = ChannelSizes(operation.out.c, grain);
  if (placement.cell_channels > 0 &&
      placement.cell_channels < operation.out.c) {
    sizes.push_back(placement.cell_channels);
  }
  for (const int64_t channels : sizes) {
    for (const int64_t row : rows) {
      for (const int64_t column : columns) {
        const Tiling tiling = {row, column, channels};
        if (IsLegal(operation, tiling)) tilings.push_back(tiling);
      }
    }
  }
  return tilings;
}

// Host cycles to start a job, the most of any kind of job; nothing if registers
// cannot express one.
absl::StatusOr<std::optional<int64_t>> StartCyclesOf(const Placement& placement,
                                                     const TileSet& jobs) {
  int64_t most = 0;
  for (const CutAxis::Kind& h : jobs.h->jobs.all) {
    for (const CutAxis::Kind& w : jobs.w->jobs.all) {
      for (const CutAxis::Kind& c : jobs.c->jobs.all) {
        const auto code = placement.chip->view().Encode(
            VariablesOf(placement.operation, h.first, w.first, c.first));
        if (absl::IsOutOfRange(code.status())) return std::nullopt;
        if (!code.ok()) return code.status();
        most = std::max(most, placement.chip->JobCycles(*code));
      }
    }
  }
  return most;
}

// Cycles of all tiles of an op, of the host's clock. Those of one tile fit 64
// bits; those of all may not.
struct Sums {
  __int128 moves = 0;
  __int128 jobs = 0;
  __int128 exposed = 0;  // Moves before the first job, and after the last.
};

Sums SumsOf(const TileSet& tiles, const TileSet& jobs, const CycleTable& cycles,
            bool channels_outer, bool channelwise) {
  Sums sums;
  const int64_t images = tiles.images();
  const int64_t channel_tiles = std::ssize(tiles.c->cuts);
  // Image tiles are loaded again for each channel tile, or weights for each
  // image tile, unless there is only one.
  const int64_t weight_passes =
      channels_outer || channel_tiles == 1 ? 1 : images;
  const bool image_stays = !channelwise && (!channels_outer || images == 1);
  size_t at_job = 0;
  for (const CutAxis::Kind& h : jobs.h->jobs.all) {
    for (const CutAxis::Kind& w : jobs.w->jobs.all) {
      for (const CutAxis::Kind& c : jobs.c->jobs.all) {
        sums.jobs += static_cast<__int128>(h.count) * w.count * c.count *
                     cycles.jobs[at_job++];
      }
    }
  }
  const std::vector<CutAxis::Kind>& channels = tiles.c->moves.all;
  size_t at = 0;
  for (const CutAxis::Kind& h : tiles.h->moves.all) {
    for (const CutAxis::Kind& w : tiles.w->moves.all) {
      const __int128 places = static_cast<__int128>(h.count) * w.count;
      for (size_t c = 0; c < channels.size(); ++c) {
        const TileMoves& tile = cycles.tiles[at++];
        const __int128 count = places * channels[c].count;
        sums.moves += count * tile.output.cycles;
        const __int128 inputs =
            image_stays ? (c == 0 ? places : __int128{0}) : count;
        sums.moves +=
            (__int128{tile.input.cycles} + tile.input2.cycles) * inputs;
      }
    }
  }
  for (size_t c = 0; c < channels.size(); ++c) {
    sums.moves += __int128{cycles.constants[c].cycles} * channels[c].count *
                  weight_passes;
  }
  const TileMoves& first = cycles.tiles[0];
  const size_t last = (tiles.h->moves.of.back() * tiles.w->moves.all.size() +
                       tiles.w->moves.of.back()) *
                          channels.size() +
                      tiles.c->moves.of.back();
  sums.exposed = __int128{first.input.cycles} + first.input2.cycles +
                 cycles.constants[0].cycles + cycles.tiles[last].output.cycles;
  return sums;
}

struct Candidate {
  int64_t bound = 0;  // It takes as many cycles at least.
  Tiling tiling;
  bool channels_outer = false;
  // Else both loop orders, and the bound counts no more than starts of jobs.
  bool is_costed = false;
};

// By bound; among equals, first those whose bound may yet rise.
struct IsLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    const auto key = [](const Candidate& x) {
      return std::tuple(x.bound, x.is_costed, x.tiling.channels, x.tiling.rows,
                        x.tiling.columns, x.channels_outer);
    };
    return key(a) > key(b);
  }
};

class Searcher {
 public:
  Searcher(const Placement& placement, int64_t bytes, bool one_room = false)
      : placement_(placement),
        costs_(placement),
        resident_bytes_(ResidentBytes(placement)),
        bytes_(bytes),
        one_room_(one_room) {}

  absl::StatusOr<std::optional<Choice>> Run() {
    EK_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings,
                        AllTilings(placement_));
    for (const Tiling& tiling : tilings) {
      if (start_cycles_) {
        EK_RETURN_IF_ERROR(AddLater(tiling));
      } else {
        EK_RETURN_IF_ERROR(AddCandidates(tiling));
      }
    }
    int timed = 0;
    while (!candidates_.empty()) {
      const Candidate candidate = candidates_.top();
      if (best_ && candidate.bound >= best_->cycles) break;
      candidates_.pop();
      if (!candidate.is_costed) {
        EK_RETURN_IF_ERROR(AddCandidates(candidate.tiling));
        continue;
      }
      EK_ASSIGN_OR_RETURN(const bool legal, Time(candidate));
      if (!legal) continue;
      if (++timed == kMaxTimed || timed_tiles_ > kMaxTimedTiles) break;
    }
    if (!best_ && too_long_) return TooLong();
    return std::move(best_);
  }

  // As a recipe says.
  absl::StatusOr<std::optional<Choice>> RunAttempts(
      const TileDecisions& decisions) {
    EK_ASSIGN_OR_RETURN(const target::Expression objective,
                        target::ObjectiveOf(decisions));
    EK_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings,
                        AllTilings(placement_));
    for (const auto& attempt : decisions.attempts()) {
      EK_ASSIGN_OR_RETURN(const std::optional<Tiling> tiling,
                          Attempt(attempt, decisions, objective, tilings));
      if (!tiling) continue;
      EK_ASSIGN_OR_RETURN(const bool legal,
                          Time({0, *tiling, /*channels_outer=*/true}));
      if (legal) return std::move(best_);
    }
    return std::nullopt;
  }

  absl::StatusOr<int64_t> Smallest(const TileDecisions& decisions) {
    EK_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings,
                        AllTilings(placement_));
    int64_t smallest = std::numeric_limits<int64_t>::max();
    for (const Tiling& tiling : tilings) {
      if (!AnyAttemptHas(decisions, tiling)) continue;
      const TileSet tiles = costs_.Tiles(tiling);
      EK_ASSIGN_OR_RETURN(const auto needs, costs_.NeedsOf(tiles));
      if (!needs || !AreAsDecided(decisions, tiling, *needs)) continue;
      const int64_t bytes = resident_bytes_ + RoomBytes(*needs, {});
      if (bytes >= smallest) continue;
      EK_ASSIGN_OR_RETURN(
          const auto start,
          StartCyclesOf(placement_, costs_.Jobs(tiles, *needs)));
      if (start) smallest = bytes;
    }
    if (smallest < std::numeric_limits<int64_t>::max()) return smallest;
    // The smallest tile, and why its job cannot be encoded.
    const TileSet tiles = costs_.Tiles({1, 1, 1});
    for (const CutAxis::Kind& h : tiles.h->jobs.all) {
      for (const CutAxis::Kind& w : tiles.w->jobs.all) {
        for (const CutAxis::Kind& c : tiles.c->jobs.all) {
          const auto writes = placement_.chip->view().Encode(
              VariablesOf(placement_.operation, h.first, w.first, c.first));
          if (!writes.ok()) return writes.status();
        }
      }
    }
    return absl::OutOfRangeError("no tile of it is one that a job can have");
  }

 private:
  bool AttemptHas(const TileDecisions::Attempt& attempt,
                  const Tiling& tiling) const {
    const Image& out = placement_.operation.out;
    return (!attempt.whole_rows() || tiling.rows == out.h) &&
           (!attempt.whole_columns() || tiling.columns == out.w) &&
           (!attempt.whole_channels() || tiling.channels == out.c);
  }

  bool AnyAttemptHas(const TileDecisions& decisions,
                     const Tiling& tiling) const {
    return decisions.attempts().empty() ||
           std::any_of(
               decisions.attempts().begin(), decisions.attempts().end(),
               [&](const auto& each) { return AttemptHas(each, tiling); });
  }

  // Whether tiles with these needs have no more jobs than attempts allow.
  bool AreAsDecided(const TileDecisions& decisions, const Tiling& tiling,
                    const TileNeeds& needs) const {
    return decisions.attempts().empty() || !decisions.one_job() ||
           placement_.operation.kernel == kDepthwise ||
           needs.job_channels >= tiling.channels;
  }

  // The tiling that fits with the largest objective.
  absl::StatusOr<std::optional<Tiling>> Attempt(
      const TileDecisions::Attempt& attempt, const TileDecisions& decisions,
      const target::Expression& objective, const std::vector<Tiling>& tilings) {
    const Operation& operation = placement_.operation;
    struct Rated {
      Tiling tiling;
      absl::StatusOr<int64_t> value;
    };
    std::vector<Rated> rated;
    for (const Tiling& tiling : tilings) {
      if (!AttemptHas(attempt, tiling)) continue;
      const TileSet tiles = costs_.Tiles(tiling);
      const target::JobVariables first = VariablesOf(
          operation, tiles.h->cuts[0], tiles.w->cuts[0], tiles.c->cuts[0]);
      rated.push_back({tiling, objective.Evaluate(first.values())});
    }
    // An objective without a value is an error of a tiling that fits.
    std::stable_sort(rated.begin(), rated.end(),
                     [](const Rated& a, const Rated& b) {
                       if (!a.value.ok() || !b.value.ok()) {
                         return !a.value.ok() && b.value.ok();
                       }
                       return *a.value > *b.value;
                     });
    for (const auto& [tiling, value] : rated) {
      const TileSet tiles = costs_.Tiles(tiling);
      EK_ASSIGN_OR_RETURN(const auto needs, costs_.NeedsOf(tiles));
      if (!needs || !Fits(*needs, {})) continue;
      if (!AreAsDecided(decisions, tiling, *needs)) continue;
      EK_ASSIGN_OR_RETURN(
          const auto start,
          StartCyclesOf(placement_, costs_.Jobs(tiles, *needs)));
      if (!start) continue;
      EK_RETURN_IF_ERROR(value.status());
      return tiling;
    }
    return std::nullopt;
  }

  // Every tiling that fits takes more than kMaxPlannedCycles.
  absl::Status TooLong() const {
    const Chip& chip = *placement_.chip;
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "PLAN_TOO_LONG",
         .what = "the layer takes too many cycles, however it is cut",
         .where = absl::StrCat("job ", v1::RegisterJobs::Kernel_Name(
                                           placement_.operation.kernel)),
         .limit = absl::StrCat(kMaxPlannedCycles,
                               " cycles of the host's clock per layer"),
         .fix = absl::StrCat(
             "use a larger ", chip.machine().memories(chip.memory()).name(),
             ", fewer cycles in setup_cycles_expr of the links or in "
             "occupancy_cycles_expr of the job, or a smaller layer")});
  }

  // Adds a tiling that is costed when no other has a lower bound.
  absl::Status AddLater(const Tiling& tiling) {
    const Image& out = placement_.operation.out;
    EK_ASSIGN_OR_RETURN(const int64_t channels,
                        costs_.MostJobChannels(tiling.channels));
    if (channels == 0) return absl::OkStatus();
    const __int128 jobs = __int128{CeilDiv(out.h, tiling.rows)} *
                          CeilDiv(out.w, tiling.columns) *
                          CeilDiv(out.c, channels);
    // What takes too long is told from what does not fit.
    const __int128 cycles =
        std::min<__int128>(jobs * *start_cycles_, kMaxPlannedCycles);
    candidates_.push({static_cast<int64_t>(cycles), tiling});
    return absl::OkStatus();
  }

  // Adds a tiling, if it fits, in both loop orders, but for those that take too
  // long.
  absl::Status AddCandidates(const Tiling& tiling) {
    const TileSet tiles = costs_.Tiles(tiling);
    EK_ASSIGN_OR_RETURN(const auto needs, costs_.NeedsOf(tiles));
    if (!needs || !Fits(*needs, {})) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const CycleTable cycles,
                        costs_.CyclesOf(tiles, *needs));
    const TileSet jobs = costs_.Jobs(tiles, *needs);
    const bool one_order = tiles.images() == 1 || tiles.c->cuts.size() == 1;
    for (const bool channels_outer : {false, true}) {
      if (channels_outer && one_order) break;
      const Sums sums = SumsOf(tiles, jobs, cycles, channels_outer,
                               placement_.operation.channelwise());
      const int64_t start = StartCycles(jobs);
      const __int128 host = sums.moves + __int128{jobs.tiles()} * start;
      const __int128 engine = sums.exposed + start + sums.jobs;
      const __int128 bound = std::max(host, engine);
      if (bound > kMaxPlannedCycles) {
        too_long_ = true;
        continue;
      }
      candidates_.push({static_cast<int64_t>(bound), tiling, channels_outer,
                        /*is_costed=*/true});
    }
    return absl::OkStatus();
  }

  // Every job writes nearly the same number of registers.
  int64_t StartCycles(const TileSet& jobs) {
    if (!start_cycles_) {
      const auto code = placement_.chip->view().Encode(
          VariablesOf(placement_.operation, jobs.h->cuts[0], jobs.w->cuts[0],
                      jobs.c->cuts[0]));
      if (!code.ok()) return 0;
      start_cycles_ = placement_.chip->JobCycles(*code);
    }
    return *start_cycles_;
  }

  bool Fits(const TileNeeds& needs, const Decision& decision) const {
    return resident_bytes_ + RoomBytes(needs, decision) <= bytes_;
  }

  // Times every choice of rooms and keeps the best. False if registers cannot
  // express these tiles.
  absl::StatusOr<bool> Time(const Candidate& candidate) {
    const TileSet tiles = costs_.Tiles(candidate.tiling);
    EK_ASSIGN_OR_RETURN(auto needs, costs_.NeedsOf(tiles));
    const TileSet jobs = costs_.Jobs(tiles, *needs);
    EK_ASSIGN_OR_RETURN(const auto start, StartCyclesOf(placement_, jobs));
    if (!start) return false;
    EK_ASSIGN_OR_RETURN(needs->rearranged_bytes,
                        costs_.RearrangedBytes(tiles, *needs));
    timed_tiles_ += jobs.tiles();
    EK_ASSIGN_OR_RETURN(const CycleTable cycles,
                        costs_.CyclesOf(tiles, *needs));
    const bool one = one_room_ || tiles.tiles() == 1;
    const bool moves_input =
        needs->input == Access::kMoved || needs->input2 == Access::kMoved;
    const bool stores = needs->output == Access::kMoved;
    const bool loads_again =
        !one && needs->constant_bytes > 0 && tiles.c->cuts.size() > 1;
    for (int32_t input = 1; input <= (moves_input && !one ? 2 : 1); ++input) {
      for (int32_t constant = 1; constant <= (loads_again ? 2 : 1);
           ++constant) {
        for (int32_t output = 1; output <= (stores && !one ? 2 : 1); ++output) {
          const Decision decision = {candidate.tiling, candidate.channels_outer,
                                     input, constant, output};
          if (!Fits(*needs, decision)) continue;
          Consider(tiles, jobs, *needs, cycles, *start, decision);
        }
      }
    }
    return true;
  }

  void Consider(const TileSet& tiles, const TileSet& jobs,
                const TileNeeds& needs, const CycleTable& cycles,
                int64_t start_cycles, const Decision& decision) {
    Clock clock(*placement_.chip);
    for (const TileStep& step : BuildSequence(tiles, needs, decision)) {
      clock.Step(CostOf(tiles, jobs, cycles, start_cycles, step), step.after);
    }
    const int64_t bytes = resident_bytes_ + RoomBytes(needs, decision);
    if (best_ && std::tuple(best_->cycles, best_->bytes) <=
                     std::tuple(clock.End(), bytes)) {
      return;
    }
    best_ = Choice{decision, needs, bytes, clock.End()};
  }

  static StepCost CostOf(const TileSet& tiles, const TileSet& jobs,
                         const CycleTable& cycles, int64_t start_cycles,
                         const TileStep& step) {
    const auto move = [](const MoveCost& cost) {
      return StepCost{false, cost.cycles, 0, cost.waits};
    };
    const int32_t c = tiles.c->moves.of[step.c];
    const TileMoves& tile =
        cycles.tiles[(tiles.h->moves.of[step.h] * tiles.w->moves.all.size() +
                      tiles.w->moves.of[step.w]) *
                         tiles.c->moves.all.size() +
                     c];
    switch (step.kind) {
      case TileStep::Kind::kConstants:
        return move(cycles.constants[c]);
      case TileStep::Kind::kInput:
        return move(tile.input);
      case TileStep::Kind::kInput2:
        return move(tile.input2);
      case TileStep::Kind::kOutput:
        return move(tile.output);
      case TileStep::Kind::kJob:
        break;
    }
    const size_t image = jobs.h->jobs.of[step.h] * jobs.w->jobs.all.size() +
                         jobs.w->jobs.of[step.w];
    return {true, start_cycles,
            cycles.jobs[image * jobs.c->jobs.all.size() +
                        jobs.c->jobs.of[step.job_c]]};
  }

  const Placement& placement_;
  TileCosts costs_;
  const int64_t resident_bytes_;
  const int64_t bytes_;
  const bool one_room_;
  std::optional<int64_t> start_cycles_;
  std::priority_queue<Candidate, std::vector<Candidate>, IsLater> candidates_;
  int64_t timed_tiles_ = 0;
  bool too_long_ = false;  // Some tiling fits and exceeds kMaxPlannedCycles.
  std::optional<Choice> best_;
};

}  // namespace

absl::StatusOr<std::optional<Choice>> BestChoice(
    const Placement& placement, int64_t bytes,
    const v1::register_job::TileDecisions& decisions) {
  Searcher searcher(placement, bytes, decisions.one_room());
  return decisions.attempts().empty() ? searcher.Run()
                                      : searcher.RunAttempts(decisions);
}

absl::StatusOr<int64_t> SmallestBytes(
    const Placement& placement,
    const v1::register_job::TileDecisions& decisions) {
  return Searcher(placement, 0).Smallest(decisions);
}

}  // namespace edgekiln::compiler::register_job
