#ifndef EK_TESTING_TINY_VECTOR_COMPILER_TILES_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_TILES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "testing/tiny_vector/compiler/code_writer.h"
#include "testing/tiny_vector/compiler/layer.h"

namespace edgekiln::compiler::tiny_vector {

// How much of an output row is computed at once.
struct Tile {
  int64_t pixels = 1;
  int64_t channels = 1;  // Of each pixel.
};

// Vectors of each bank that a tile takes.
int64_t VectorsOf(const Tile& tile, int64_t lanes);

// The largest that fits banks of so many vectors, >= 1: all channels of as many
// pixels as fit, else as many channels of one pixel as fit. Fewer commands
// never take longer; that no other tile is faster is not proved.
Tile LargestTile(const Layer& layer, int64_t vectors, int64_t lanes);

// Where the tensors of a layer begin in system memory.
struct Addresses {
  int64_t input = 0;
  int64_t input2 = 0;
  int64_t output = 0;
};

// The commands of a layer that is no alias, tile by tile. Counts them in
// `tiles`. Errors: CodeWriter's.
absl::Status WriteLayer(const Layer& layer, const Tile& tile, int64_t lanes,
                        const Addresses& at, CodeWriter& code, int32_t& tiles);

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_TILES_H_
