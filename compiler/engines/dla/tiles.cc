#include "compiler/engines/dla/tiles.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/rounding.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {
namespace {

class Maker {
 public:
  Maker(const SubgraphPlan& plan, const std::vector<TensorId>& storage)
      : plan_(plan), storage_(storage) {}

  Tiles Make() && {
    auto chain = plan_.chains.begin();
    const auto count = static_cast<int32_t>(plan_.layers.size());
    for (int32_t l = 0; l < count; ++l) {
      if (chain != plan_.chains.end() && chain->first == l) {
        AddChain(*chain);
        l = chain->last;
        ++chain;
        continue;
      }
      const Layer& layer = plan_.layers[l];
      if (layer.op == LayerOp::kAlias) continue;
      AddPart({l, {0, layer.in.h}, {0, layer.out.h}});
    }
    return std::move(made_);
  }

 private:
  int32_t next() const { return static_cast<int32_t>(made_.steps.size()); }

  void AddChain(const Chain& chain) {
    const int32_t first = next();
    const std::vector<int64_t> held = CountRows(plan_.layers, chain).held;
    for (int32_t l = chain.first; l < chain.last; ++l) {
      const Layer& layer = plan_.layers[l];
      made_.passed_on[storage_[layer.output]] = RoundUp(
          held[l - chain.first + 1] * layer.out_row_bytes(), kSlotAlignment);
    }
    kept_.assign(chain.last - chain.first + 1, {});
    std::vector<int64_t> made(kept_.size(), 0);
    const std::vector<PieceRows> pieces = PiecesOfChain(plan_.layers, chain);
    for (size_t piece = 0; piece < pieces.size(); ++piece) {
      const PieceRows& rows = pieces[piece];
      for (int32_t l = chain.first; l <= chain.last; ++l) {
        const int32_t k = l - chain.first;
        if (piece > 0) {
          AddCopy(l, pieces[piece - 1].held[k + 1], rows.held[k + 1],
                  rows.made[k + 1]);
        }
        if (rows.made[k + 1].count() == 0) continue;
        AddPart({l, rows.held[k], rows.made[k + 1], made[k],
                 rows.held[k + 1].begin},
                plan_.tilings[l].keeps_blocks ? &kept_[k] : nullptr);
        made[k] = rows.made[k + 1].end;
      }
    }
    for (int32_t l = chain.first; l < chain.last; ++l) {
      const TensorId passed = storage_[plan_.layers[l].output];
      made_.held.push_back(
          {first, made_.last_use.at(passed), made_.passed_on.at(passed)});
    }
    for (const Kept& kept : kept_) {
      if (kept.loads.empty()) continue;
      // The steps of the part that loads them have them among its buffers.
      const Slots::Of& slots = made_.slots[kept.part].loads[0];
      made_.held.push_back(
          {kept.last_of_part + 1, kept.last, slots.bytes * slots.count});
    }
  }

  // Of what the layer made for the piece before.
  void AddCopy(int32_t layer, const Rows& before, const Rows& held,
               const Rows& made) {
    const int64_t from = held.begin - before.begin;
    const int64_t rows = made.begin - held.begin;
    if (from > 0 && rows > 0)
      made_.copies.push_back({next(), layer, from, rows});
  }

  // Blocks that stay for all pieces of a chain, and the part that loads them.
  struct Kept {
    std::map<BlockChannels, int32_t> loads;
    int32_t part = 0;
    int32_t last_of_part = 0;  // Steps.
    int32_t last = 0;
  };

  void AddPart(const Part& part, Kept* kept = nullptr) {
    const Layer& layer = plan_.layers[part.layer];
    const auto index = static_cast<int32_t>(made_.parts.size());
    made_.parts.push_back(part);
    made_.slots.emplace_back();
    const int32_t first = next();
    whole_rows_.fill(part.input.begin);
    if (kept != nullptr && kept->loads.empty()) kept->part = index;
    for (const Slice& slice : TilesOf(layer, plan_.tilings[part.layer],
                                      part.output.begin, part.output.end)) {
      AddTile(index, slice, first, kept);
    }
    SetOutputSlots(index, first);
    made_.slots[index].sums = {SumsBytes(layer, plan_.tilings[part.layer]),
                               SumsBuffers(layer, plan_.tilings[part.layer])};
    const int32_t last = next() - 1;
    if (kept != nullptr) {
      if (kept->part == index) kept->last_of_part = last;
      kept->last = last;
    }
    for (const TensorId input : {layer.input, layer.input2}) {
      if (input != kNoTensor) made_.last_use[storage_[input]] = last;
    }
    const TensorId output = storage_[layer.output];
    made_.producers.try_emplace(output, first, last).first->second.second =
        last;
    made_.last_use[output] = std::max(made_.last_use[output], last);
  }

  void AddTile(int32_t part, const Slice& slice, int32_t first_of_part,
               Kept* kept) {
    const int32_t l = made_.parts[part].layer;
    const Layer& layer = plan_.layers[l];
    const int64_t inputs = InputsPerStep(layer, plan_.tilings[l]);
    for (int64_t i = 0; i < layer.in.c; i += inputs) {
      Step step;
      step.layer = l;
      step.part = part;
      step.output = slice;
      step.channels = {slice.c_begin, slice.c_end, i,
                       std::min(i + inputs, layer.in.c)};
      step.first = i == 0;
      step.last = i + inputs >= layer.in.c;
      AddStep(step, first_of_part, kept);
    }
  }

  void AddStep(Step step, int32_t first_of_part, Kept* kept) {
    const Layer& layer = plan_.layers[step.layer];
    // Neighbouring steps of a part share what they both read.
    const Step* before = next() > first_of_part ? &made_.steps.back() : nullptr;
    if (layer.has_block()) {
      Load load;
      load.layer = step.layer;
      load.part = step.part;
      load.operand = Operand::kBlock;
      load.block = step.channels;
      load.bytes = BlockBytes(layer, step.channels.channels(),
                              step.channels.in_end - step.channels.in_begin);
      step.block = kept != nullptr
                       ? KeptLoad(load, *kept)
                       : SharedLoad(before ? before->block : -1, load);
    }
    const auto input = [&](TensorId tensor, Operand operand, int32_t previous) {
      if (plan_.resident.contains(storage_[tensor]) ||
          made_.passed_on.contains(storage_[tensor])) {
        return -1;
      }
      Load load;
      load.layer = step.layer;
      load.part = step.part;
      load.operand = operand;
      load.storage = storage_[tensor];
      load.slice = InputOfStep(layer, step);
      load.bytes = layer.InputBytes(load.slice);
      return plan_.tilings[step.layer].whole_input ? PartOfWhole(previous, load)
                                                   : SharedLoad(previous, load);
    };
    step.input =
        input(layer.input, Operand::kInput, before ? before->input : -1);
    if (layer.input2 != kNoTensor) {
      step.input2 =
          input(layer.input2, Operand::kInput2, before ? before->input2 : -1);
    }
    made_.steps.push_back(step);
  }

  int32_t KeptLoad(Load load, Kept& kept) {
    const auto [it, added] = kept.loads.try_emplace(load.block, -1);
    if (!added) {
      made_.loads[it->second].last_step = next();
      return it->second;
    }
    Slots::Of& slots = made_.slots[load.part].loads[0];
    load.slot = slots.count++;
    slots.kept = true;
    slots.bytes = std::max(slots.bytes, Rounded(load.layer, load.bytes));
    it->second = Add(load);
    return it->second;
  }

  int32_t SharedLoad(int32_t previous, Load load) {
    if (previous >= 0 && made_.loads[previous].slice == load.slice &&
        made_.loads[previous].block == load.block) {
      made_.loads[previous].last_step = next();
      return previous;
    }
    const Tiling& tiling = plan_.tilings[load.layer];
    const bool doubled = load.operand == Operand::kBlock ? tiling.double_block
                                                         : tiling.double_input;
    const auto operand = static_cast<size_t>(load.operand);
    Slots::Of& slots = made_.slots[load.part].loads[operand];
    std::vector<int32_t>& turns = turns_[operand];
    if (previous < 0) turns.clear();
    const auto turn = static_cast<int>(turns.size());
    if (turn < BuffersOf(doubled)) {
      ++slots.count;
    } else {
      load.before = turns[turn - slots.count];
    }
    load.slot = turn % slots.count;
    slots.bytes = std::max(slots.bytes, Rounded(load.layer, load.bytes));
    turns.push_back(static_cast<int32_t>(made_.loads.size()));
    return Add(load);
  }

  // Rows that are not there yet, with all columns and channels.
  int32_t PartOfWhole(int32_t previous, Load load) {
    const Layer& layer = plan_.layers[load.layer];
    const auto operand = static_cast<size_t>(load.operand);
    int64_t& there = whole_rows_[operand];
    if (previous >= 0 && load.slice.h_end <= there) return previous;
    load.slice = {std::max(there, load.slice.h_begin),
                  load.slice.h_end,
                  0,
                  layer.in.w,
                  0,
                  layer.in.c};
    there = load.slice.h_end;
    load.bytes = layer.InputBytes(load.slice);
    load.part_of_whole = true;
    made_.slots[load.part].loads[operand] = {
        Rounded(load.layer,
                made_.parts[load.part].input.count() * layer.in_row_bytes()),
        1};
    return Add(load);
  }

  int32_t Add(Load load) {
    load.last_step = next();
    made_.loads.push_back(load);
    return static_cast<int32_t>(made_.loads.size()) - 1;
  }

  int BuffersOf(bool doubled) const { return doubled ? plan_.buffers : 1; }

  // Slots that are whole words pack without gaps. The least memory has no room
  // for that unless the layer needs it.
  int64_t Rounded(int32_t l, int64_t bytes) const {
    const bool exact =
        plan_.strict && !IsAligned(plan_.layers[l], plan_.tilings[l]);
    return exact ? bytes : RoundUp(bytes, kSlotAlignment);
  }

  void SetOutputSlots(int32_t part, int32_t first_step) {
    const int32_t l = made_.parts[part].layer;
    const Layer& layer = plan_.layers[l];
    if (plan_.resident.contains(storage_[layer.output]) ||
        made_.passed_on.contains(storage_[layer.output])) {
      return;
    }
    Slots::Of& slots = made_.slots[part].output;
    int64_t tiles = 0;
    for (auto s = static_cast<size_t>(first_step); s < made_.steps.size();
         ++s) {
      if (made_.steps[s].last) ++tiles;
    }
    slots.count = static_cast<int>(
        std::min<int64_t>(BuffersOf(plan_.tilings[l].double_output), tiles));
    int64_t tile = 0;
    for (auto s = static_cast<size_t>(first_step); s < made_.steps.size();
         ++s) {
      Step& step = made_.steps[s];
      step.slot = static_cast<int32_t>(tile % slots.count);
      slots.bytes =
          std::max(slots.bytes, Rounded(l, layer.OutputBytes(step.output)));
      if (step.last) ++tile;
    }
  }

  const SubgraphPlan& plan_;
  const std::vector<TensorId>& storage_;
  // Of the present part, by operand: loads, and the row up to which its whole
  // input is there.
  std::array<std::vector<int32_t>, 3> turns_;
  std::array<int64_t, 3> whole_rows_{};
  std::vector<Kept> kept_;  // By layer of the present chain.
  Tiles made_;
};

}  // namespace

Slice InputOfStep(const Layer& layer, const Step& step) {
  Slice slice = InputOf(layer, step.output).slice;
  if (layer.sums_up()) {
    slice.c_begin = step.channels.in_begin;
    slice.c_end = step.channels.in_end;
  }
  return slice;
}

absl::InlinedVector<int32_t, 3> Step::loads() const {
  absl::InlinedVector<int32_t, 3> loads;
  for (const int32_t load : {block, input, input2}) {
    if (load >= 0) loads.push_back(load);
  }
  return loads;
}

int MostBuffers(const Tiles& tiles) {
  int most = 0;
  for (const Slots& slots : tiles.slots) {
    for (const Slots::Of& of : slots.loads) {
      if (!of.kept) most = std::max(most, of.count);
    }
    most = std::max(most, slots.output.count);
  }
  return most;
}

Tiles MakeTiles(const SubgraphPlan& plan,
                const std::vector<TensorId>& storage) {
  return Maker(plan, storage).Make();
}

}  // namespace edgekiln::compiler::dla
