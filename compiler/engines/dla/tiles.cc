#include "compiler/engines/dla/tiles.h"

#include <algorithm>

#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {
namespace {

class Maker {
 public:
  Maker(const SubgraphPlan& plan, const std::vector<TensorId>& storage)
      : plan_(plan), storage_(storage) {}

  Tiles Make() && {
    for (size_t l = 0; l < plan_.layers.size(); ++l) {
      const Layer& layer = plan_.layers[l];
      if (layer.op == LayerOp::kAlias) continue;
      const auto first = static_cast<int32_t>(made_.tiles.size());
      for (const Slice& slice : TilesOf(layer, plan_.tilings[l])) {
        AddTile(static_cast<int32_t>(l), slice, first);
      }
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
    if (layer.has_weights()) {
      const Slice channels = {0, 0, slice.c_begin, slice.c_end};
      tile.block = SharedLoad(before ? before->block : -1,
                              {.layer = l,
                               .slice = channels,
                               .bytes = BlockBytes(layer, slice.channels())},
                              index);
    }
    const Slice in = InputOf(layer, slice).slice;
    const auto input = [&](TensorId tensor, int32_t previous) {
      if (plan_.resident.contains(storage_[tensor])) return -1;
      return SharedLoad(previous,
                        {.layer = l,
                         .storage = storage_[tensor],
                         .slice = in,
                         .bytes = in.rows() * layer.in.w * in.channels()},
                        index);
    };
    tile.input = input(layer.input, before ? before->input : -1);
    if (layer.input2 != kNoTensor) {
      tile.input2 = input(layer.input2, before ? before->input2 : -1);
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
    made_.loads.push_back(load);
    return static_cast<int32_t>(made_.loads.size()) - 1;
  }

  const SubgraphPlan& plan_;
  const std::vector<TensorId>& storage_;
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
