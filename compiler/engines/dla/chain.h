#ifndef EK_COMPILER_ENGINES_DLA_CHAIN_H_
#define EK_COMPILER_ENGINES_DLA_CHAIN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "compiler/engines/dla/layer.h"

// Depth-first execution: a few layers that take turns, piece by piece, so that
// what they pass on never leaves SRAM and is never there as a whole.
namespace edgekiln::compiler::dla {

// Neighbouring layers, each of which passes its output on to the next one. A
// piece is some rows of the last layer's output; for it every layer computes
// the rows that the next one needs. Rows that two pieces need are computed for
// both: to keep them takes as much SRAM as larger pieces do.
struct Chain {
  int32_t first = 0;  // Indices of layers; last > first.
  int32_t last = 0;
  int64_t rows =
      1;  // Of the last layer's output; the last piece may have fewer.
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
// The rows of a piece: of the input of the chain's first layer, then of the
// output of each layer. All pieces together have all rows of all layers.
std::vector<Rows> RowsOfPiece(absl::Span<const Layer> layers,
                              const Chain& chain, int64_t piece);
// Of all pieces, alike: the most rows of any, and how many they have together.
struct RowCounts {
  std::vector<int64_t> most;
  std::vector<int64_t> all;
};
RowCounts CountRows(absl::Span<const Layer> layers, const Chain& chain);

// The layer as if it had so many output rows alone, and what they read where no
// border is near.
Layer InnerPiece(const Layer& layer, int64_t rows);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_CHAIN_H_
