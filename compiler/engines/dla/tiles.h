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

// Bytes that are brought into SRAM for one or more steps.
struct Load {
  int32_t layer = 0;
  int32_t part = 0;  // Whose buffer it fills: of its first step.
  Operand operand = Operand::kBlock;
  TensorId storage = kNoTensor;  // kNoTensor: a block.
  Slice slice;                   // Of the input, unless it is a block.
  BlockChannels block;
  int64_t bytes = 0;
  // The buffer holds the part's whole input, and this is some of it that no
  // load brought before. Otherwise the buffer holds these bytes densely.
  bool part_of_whole = false;
  int32_t last_step = 0;
  int32_t slot = 0;     // Which of the operand's buffers it fills.
  int32_t before = -1;  // The load that it overwrites there; -1: none.
};

// What one block contributes to a tile: all of it, unless the tile is summed up
// over several blocks of input channels.
struct Step {
  int32_t layer = 0;
  int32_t part = 0;
  Slice output;
  BlockChannels channels;
  bool first = true;  // Of its tile.
  bool last = true;
  int32_t block = -1;  // Loads; -1: none, or the tensor is resident.
  int32_t input = -1;
  int32_t input2 = -1;
  int32_t slot = 0;  // Which of the layer's output buffers the tile is made in.

  // Those of the three that it has.
  absl::InlinedVector<int32_t, 3> loads() const;
};

// What is computed in one go: a layer, or a piece of one in a chain.
struct Part {
  int32_t layer = 0;
  Rows input;  // That it reads.
  Rows output;
  int64_t made_before = 0;  // Rows up to it were in an earlier piece, too.
  int64_t held_from = 0;    // First row in the buffer of what it passes on.
};

// Rows of what a layer of a chain passed on for the piece before, which the
// present one needs, too: moved to the front of their buffer.
struct Copy {
  int32_t step = 0;      // Before it.
  int32_t layer = 0;     // That made them.
  int64_t from_row = 0;  // Of the buffer.
  int64_t rows = 0;
};

// The slice of the input that the step reads.
Slice InputOfStep(const Layer& layer, const Step& step);

// The buffers of one part. Those of one operand are equally large, so that
// loads, or tiles of the output, take turns. Sums have one for those that are
// complete up to now, and one for those to add; the first is the output's own
// where the layer gives sums.
struct Slots {
  struct Of {
    int64_t bytes = 0;  // Of each.
    int count = 0;
    bool kept = false;  // Each is filled once: nothing takes turns.
  };
  std::array<Of, 3> loads;  // By Operand.
  Of output;                // None if the output is resident.
  Of sums;
  int64_t bytes() const {
    int64_t sum = output.bytes * output.count + sums.bytes * sums.count;
    for (const Of& of : loads) sum += of.bytes * of.count;
    return sum;
  }
};

// SRAM that a chain takes from one step to another, both included, beside the
// buffers of its parts.
struct Held {
  int32_t first = 0;
  int32_t last = 0;
  int64_t bytes = 0;
};

struct Tiles {
  std::vector<Part> parts;
  std::vector<Step> steps;
  std::vector<Load> loads;
  std::vector<Slots> slots;  // By part.
  // What the layers of chains pass on, by storage: bytes of the buffer that
  // every piece of it takes.
  absl::flat_hash_map<TensorId, int64_t> passed_on;
  // That, and the blocks that chains keep.
  std::vector<Held> held;
  std::vector<Copy> copies;  // In order of their steps.
  // By storage: the first and last step that make it, the last that uses it.
  absl::flat_hash_map<TensorId, std::pair<int32_t, int32_t>> producers;
  absl::flat_hash_map<TensorId, int32_t> last_use;
};

// The largest number of buffers that any operand of any part takes turns in.
int MostBuffers(const Tiles& tiles);

// `storage` as StorageOf() gives it.
Tiles MakeTiles(const SubgraphPlan& plan, const std::vector<TensorId>& storage);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILES_H_
