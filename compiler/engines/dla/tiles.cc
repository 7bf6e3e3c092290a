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
      const auto first = static_cast<int32_t>(made_.tiles.size());
      for (const Slice& slice : TilesOf(layer, plan_.tilings[l])) {
        AddTile(static_cast<int32_t>(l), slice, first);
      }
      SetOutputSlots(static_cast<int32_t>(l), first);
      const auto last = static_cast<int32_t>(made_.tiles.size()) - 1;
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
  void AddTile(int32_t l, const Slice& slice, int32_t first_of_layer) {
    const Layer& layer = plan_.layers[l];
    const auto index = static_cast<int32_t>(made_.tiles.size());
    // Neighbouring tiles of a layer share what they both read.
    const Tile* before = index > first_of_layer ? &made_.tiles.back() : nullptr;
    Tile tile;
    tile.layer = l;
    tile.output = slice;
    if (layer.has_block()) {
      const Slice channels = {0, 0, slice.c_begin, slice.c_end};
      tile.block = SharedLoad(before ? before->block : -1,
                              {.layer = l,
                               .operand = Operand::kBlock,
                               .slice = channels,
                               .bytes = BlockBytes(layer, slice.channels())},
                              index);
    }
    const Slice in = InputOf(layer, slice).slice;
    const auto input = [&](TensorId tensor, Operand operand, int32_t previous) {
      if (plan_.resident.contains(storage_[tensor])) return -1;
      return SharedLoad(previous,
                        {.layer = l,
                         .operand = operand,
                         .storage = storage_[tensor],
                         .slice = in,
                         .bytes = layer.InputBytes(in)},
                        index);
    };
    tile.input =
        input(layer.input, Operand::kInput, before ? before->input : -1);
    if (layer.input2 != kNoTensor) {
      tile.input2 =
          input(layer.input2, Operand::kInput2, before ? before->input2 : -1);
    }
    made_.tiles.push_back(tile);
  }

  int32_t SharedLoad(int32_t previous, Load load, int32_t tile) {
    if (previous >= 0 && made_.loads[previous].slice == load.slice &&
        made_.loads[previous].storage == load.storage) {
      made_.loads[previous].last_tile = tile;
      return previous;
    }
    load.last_tile = tile;
    const auto index = static_cast<int32_t>(made_.loads.size());
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
    slots.bytes =
        std::max(slots.bytes, Rounded(plan_.layers[load.layer], load.bytes));
    turns.push_back(index);
    made_.loads.push_back(load);
    return index;
  }

  int BuffersOf(bool doubled) const { return doubled ? plan_.buffers : 1; }

  // Slots that are whole words pack without gaps. The least memory has no room
  // for that unless the layer needs it.
  int64_t Rounded(const Layer& layer, int64_t bytes) const {
    const bool exact = plan_.strict && !layer.aligned();
    return exact ? bytes : RoundUp(bytes, kSlotAlignment);
  }

  void SetOutputSlots(int32_t l, int32_t first_tile) {
    const Layer& layer = plan_.layers[l];
    if (plan_.resident.contains(storage_[layer.output])) return;
    Slots::Of& slots = made_.slots[l].output;
    slots.count = static_cast<int>(
        std::min<int64_t>(BuffersOf(plan_.tilings[l].double_output),
                          std::ssize(made_.tiles) - first_tile));
    for (int64_t t = first_tile; t < std::ssize(made_.tiles); ++t) {
      Tile& tile = made_.tiles[t];
      tile.slot = static_cast<int32_t>((t - first_tile) % slots.count);
      slots.bytes =
          std::max(slots.bytes, Rounded(layer, layer.OutputBytes(tile.output)));
    }
  }

  const SubgraphPlan& plan_;
  const std::vector<TensorId>& storage_;
  // Loads of the present layer, by operand.
  std::array<std::vector<int32_t>, 3> turns_;
  Tiles made_;
};

}  // namespace

absl::InlinedVector<int32_t, 3> Tile::loads() const {
  absl::InlinedVector<int32_t, 3> loads;
  for (const int32_t load : {block, input, input2}) {
    if (load >= 0) loads.push_back(load);
  }
  return loads;
}

Tiles MakeTiles(const SubgraphPlan& plan,
                const std::vector<TensorId>& storage) {
  return Maker(plan, storage).Make();
}

}  // namespace edgekiln::compiler::dla
