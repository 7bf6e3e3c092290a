#ifndef EK_COMPILER_ENGINES_DLA_TILES_H_
#define EK_COMPILER_ENGINES_DLA_TILES_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/schedule.h"
#include "compiler/ir/graph.h"

// What a subgraph computes, tile by tile in order, and what the tiles load:
// all that a schedule orders, before any of it has a place in time.
namespace edgekiln::compiler::dla {

enum class Operand { kBlock, kInput, kInput2 };

// A transfer into SRAM that one or more neighbouring tiles share.
struct Load {
  int32_t layer = 0;
  Operand operand = Operand::kBlock;
  TensorId storage = kNoTensor;  // kNoTensor: a weight block.
  Slice slice;                   // Input slice, or the block's channels.
  int64_t bytes = 0;
  int32_t last_tile = 0;
  int32_t slot = 0;     // Which of the operand's buffers it fills.
  int32_t before = -1;  // The load that it overwrites there; -1: none.
};

struct Tile {
  int32_t layer = 0;
  Slice output;
  int32_t block = -1;  // Loads; -1: none, or the tensor is resident.
  int32_t input = -1;
  int32_t input2 = -1;
  int32_t slot = 0;  // Which of the layer's output buffers it makes.

  // Those of the three that it has.
  absl::InlinedVector<int32_t, 3> loads() const;
};

// The buffers of one layer. Those of one operand are equally large, so that
// loads, or tiles of the output, take turns.
struct Slots {
  struct Of {
    int64_t bytes = 0;  // Of each.
    int count = 0;
  };
  std::array<Of, 3> loads;  // By Operand.
  Of output;                // None if the output is resident.
  int64_t bytes() const {
    int64_t sum = output.bytes * output.count;
    for (const Of& of : loads) sum += of.bytes * of.count;
    return sum;
  }
};

struct Tiles {
  std::vector<Tile> tiles;
  std::vector<Load> loads;
  std::vector<Slots> slots;  // By layer.
  // By storage: the first and last tile that make it, the last that uses it.
  absl::flat_hash_map<TensorId, std::pair<int32_t, int32_t>> producers;
  absl::flat_hash_map<TensorId, int32_t> last_use;
};

// `storage` as StorageOf() gives it.
Tiles MakeTiles(const SubgraphPlan& plan, const std::vector<TensorId>& storage);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILES_H_
