#include "compiler/engines/dla/tiles.h"

#include <algorithm>
#include <array>

#include "base/rounding.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {
namespace {

class Maker {
 public:
  Maker(const SubgraphPlan& plan, const std::vector<TensorId>& storage)
      : plan_(plan), storage_(storage) {}

  Tiles Make() && {
    made_.slots.resize(plan_.layers.size());
    for (size_t l = 0; l < plan_.layers.size(); ++l) {
      const Layer& layer = plan_.layers[l];
      if (layer.op == LayerOp::kAlias) continue;
      const int32_t first = next();
      whole_rows_ = {};
      for (const Slice& slice : TilesOf(layer, plan_.tilings[l])) {
        AddTile(static_cast<int32_t>(l), slice, first);
      }
      SetOutputSlots(static_cast<int32_t>(l), first);
      SetSums(static_cast<int32_t>(l));
      const int32_t last = next() - 1;
      for (const TensorId input : {layer.input, layer.input2}) {
        if (input != kNoTensor) made_.last_use[storage_[input]] = last;
      }
      const TensorId output = storage_[layer.output];
      made_.producers[output] = {first, last};
      made_.last_use[output] = std::max(made_.last_use[output], last);
    }
    return std::move(made_);
  }

 private:
  int32_t next() const { return static_cast<int32_t>(made_.steps.size()); }

  void AddTile(int32_t l, const Slice& slice, int32_t first_of_layer) {
    const Layer& layer = plan_.layers[l];
    const int64_t inputs = InputsPerStep(layer, plan_.tilings[l]);
    for (int64_t i = 0; i < layer.in.c; i += inputs) {
      Step step;
      step.layer = l;
      step.output = slice;
      step.channels = {slice.c_begin, slice.c_end, i,
                       std::min(i + inputs, layer.in.c)};
      step.first = i == 0;
      step.last = i + inputs >= layer.in.c;
      AddStep(step, first_of_layer);
    }
  }

  void AddStep(Step step, int32_t first_of_layer) {
    const Layer& layer = plan_.layers[step.layer];
    // Neighbouring steps of a layer share what they both read.
    const Step* before =
        next() > first_of_layer ? &made_.steps.back() : nullptr;
    if (layer.has_block()) {
      Load load;
      load.layer = step.layer;
      load.operand = Operand::kBlock;
      load.block = step.channels;
      load.bytes = BlockBytes(layer, step.channels.channels(),
                              step.channels.in_end - step.channels.in_begin);
      step.block = SharedLoad(before ? before->block : -1, load);
    }
    const auto input = [&](TensorId tensor, Operand operand, int32_t previous) {
      if (plan_.resident.contains(storage_[tensor])) return -1;
      Load load;
      load.layer = step.layer;
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
    Slots::Of& slots = made_.slots[load.layer].loads[operand];
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
    made_.slots[load.layer].loads[operand] = {
        Rounded(load.layer, layer.all_in_bytes()), 1};
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

  void SetOutputSlots(int32_t l, int32_t first_step) {
    const Layer& layer = plan_.layers[l];
    if (plan_.resident.contains(storage_[layer.output])) return;
    Slots::Of& slots = made_.slots[l].output;
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

  void SetSums(int32_t l) {
    const Layer& layer = plan_.layers[l];
    const Tiling& tiling = plan_.tilings[l];
    made_.slots[l].sums = {SumsBytes(layer, tiling),
                           SumsBuffers(layer, tiling)};
  }

  const SubgraphPlan& plan_;
  const std::vector<TensorId>& storage_;
  // Of the present layer, by operand: loads, and rows of the whole input that
  // are there.
  std::array<std::vector<int32_t>, 3> turns_;
  std::array<int64_t, 3> whole_rows_{};
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
    for (const Slots::Of& of : slots.loads) most = std::max(most, of.count);
    most = std::max(most, slots.output.count);
  }
  return most;
}

Tiles MakeTiles(const SubgraphPlan& plan,
                const std::vector<TensorId>& storage) {
  return Maker(plan, storage).Make();
}

}  // namespace edgekiln::compiler::dla
