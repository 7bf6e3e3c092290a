#ifndef EK_COMPILER_ENGINES_DLA_CHAIN_H_
#define EK_COMPILER_ENGINES_DLA_CHAIN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"

// Depth-first execution: a few layers that take turns, piece by piece, so that
// what they pass on never leaves SRAM and is never there as a whole.
namespace edgekiln::compiler::dla {

// Neighbouring layers, each of which passes its output on to the next one. A
// piece is some rows of the last layer's output; for it every layer computes
// the rows that the next one needs. Rows that two pieces need are moved to the
// front of their buffer by a command, or computed for both where the chip lacks
// it: to keep them where they are takes as much SRAM as larger pieces do.
struct Chain {
  int32_t first = 0;  // Indices of layers; last > first.
  int32_t last = 0;
  int64_t rows =
      1;  // Of the last layer's output; the last piece may have fewer.
  bool copies_rows = false;  // That two pieces need, instead of computing them.
  bool operator==(const Chain&) const = default;
};

// Layers of one chain.
inline constexpr int32_t kMostChainLayers = 4;

// By layer: its output may be passed on to the next layer, which alone reads
// it. `storage` and `external` as of SubgraphInput.
std::vector<bool> LayersThatPassOn(
    absl::Span<const Layer> layers, absl::Span<const TensorId> storage,
    const absl::flat_hash_set<TensorId>& external);

struct Rows {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
  bool operator==(const Rows&) const = default;
};

int64_t PiecesOf(absl::Span<const Layer> layers, const Chain& chain);

// Of one piece: by tensor, the input of the chain's first layer, then the
// output of each layer.
struct PieceRows {
  // That the next layer reads: what its buffer holds. Of the last layer's
  // output, and of the input, those that are made or read.
  std::vector<Rows> held;
  // Of them, those that are computed: the last ones. May be empty, where all
  // were there before.
  std::vector<Rows> made;
};
// The pieces in order. Together they make all rows of all layers.
std::vector<PieceRows> PiecesOfChain(absl::Span<const Layer> layers,
                                     const Chain& chain);
// Commands that each copy so many rows of a layer's output to the front of its
// buffer: at most as many as lie before them, so that what they read and write
// does not overlap.
struct RowCopies {
  int32_t layer = 0;
  int64_t rows = 0;
  int64_t commands = 0;
};
// Of all pieces, by tensor: the most rows that any holds and makes, and how
// many they make together.
struct RowCounts {
  std::vector<int64_t> held;
  std::vector<int64_t> most;
  std::vector<int64_t> all;
  std::vector<RowCopies> copied;
  int64_t copies = 0;  // Commands.
};
RowCounts CountRows(absl::Span<const Layer> layers, const Chain& chain);

// The chain with rows copied where some piece has any to copy, and the chip
// can: its registers hold what each copy needs.
Chain WithCopies(const Chip& chip, absl::Span<const Layer> layers, Chain chain);

// The layer as if it had so many output rows alone, and what they read where no
// border is near.
Layer InnerPiece(const Layer& layer, int64_t rows);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_CHAIN_H_
