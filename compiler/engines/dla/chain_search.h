#ifndef EK_COMPILER_ENGINES_DLA_CHAIN_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_CHAIN_SEARCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/engines/dla/chain.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {

// By layer: plans may have it pass on its output to the next layer. Of those
// that can, not where all of the tensor takes half the SRAM or less, so that it
// can stay as a whole; nor before outputs of one row; nor where what the
// largest pieces that fit have in common costs more than half of moving the
// tensor. `fewest_cycles`: what no tiling of a layer can do without, by layer.
std::vector<bool> LayersToChain(const Chip& chip, const SubgraphInput& input,
                                const std::vector<int64_t>& fewest_cycles,
                                int64_t sram_bytes);
// Sizes of SRAM that chains are tried for on a chip, its own first; the last
// one is of a coarser kind, so that chips with more SRAM have what those with
// the next smaller such size found.
std::vector<int64_t> SizesForChains(int64_t sram_bytes);
// Those, and those of a chip of the last one: whatever chains a plan for a chip
// may have, they are for one of these.
std::vector<int64_t> AllSizesForChains(int64_t sram_bytes);

struct ChainCost {
  Chain chain;
  std::vector<Tiling> tilings;  // Of its layers.
  int64_t cycles = 0;           // Estimates, as of TilingCost.
  int64_t dma_bytes = 0;
};

// Finds how chains are cut, and remembers it. Not thread-safe. The arguments
// must outlive it.
class ChainSearch {
 public:
  ChainSearch(const Chip& chip, const SubgraphInput& input,
              const std::vector<int64_t>& fewest_cycles);

  // What is weighed against each other, in bytes: those that the DMA moves
  // count an eighth of the time that they take. They may be hidden, and give
  // room to others where they are not. Limited to what 64 bits hold.
  int64_t Worth(int64_t cycles, int64_t dma_bytes) const;

  // Of the SRAM that chains may be for; also forgets which to avoid.
  void SetSize(int64_t sram_bytes);
  // Whether there are any for it.
  bool MayChain() const;
  // Chains of these layers turned out to be slow.
  void Avoid(const Chain& chain) { avoided_.insert({chain.first, chain.last}); }

  // First layers of chains that end with `last`, nearest first. Not of those
  // that would have more operands in system memory at one time than any layer.
  std::vector<int32_t> FirstLayers(int32_t last) const;

  // What each way to cut layers first..last as a chain takes at least: cycles
  // to compute, and bytes of blocks to read. Only of those that fit the SRAM.
  struct Least {
    int64_t cycles = 0;
    int64_t block_bytes = 0;
  };
  std::vector<Least> LeastOf(int32_t first, int32_t last);

  // The cheapest way, by Worth(), to cut layers first..last as a chain with
  // buffers of `budget_bytes` together, whose worth is below `limit`: whatever
  // the number of pieces. `residency` has one for each of these layers, as if
  // what they pass on was resident.
  absl::StatusOr<std::optional<ChainCost>> Best(
      int32_t first, int32_t last, absl::Span<const Residency> residency,
      int64_t budget_bytes, int64_t limit);

 private:
  // Of a number of pieces.
  struct Shape {
    Chain chain;
    int64_t pieces = 0;
    RowCounts rows;
    int64_t passed_bytes = 0;
    int64_t copy_cycles = 0;
    int64_t fewest_cycles = 0;
  };
  // Few pieces first.
  const std::vector<Shape>& ShapesOf(int32_t first, int32_t last);
  TilingSearch& SearchOf(int32_t layer, int64_t rows);
  absl::StatusOr<std::optional<ChainCost>> Cut(
      const Shape& shape, absl::Span<const Residency> residency,
      bool keeps_blocks, int64_t budget_bytes);
  // Of what the layers read and make but for what they pass on: is alive at one
  // time.
  int64_t OperandBytes(int32_t first, int32_t last) const;
  // Of the transfers that no cut of the chain avoids.
  int64_t LeastBytes(const Shape& shape, absl::Span<const Residency> residency,
                     bool keeps_blocks) const;

  const Chip& chip_;
  const SubgraphInput& input_;
  const std::vector<int64_t>& fewest_cycles_;
  std::vector<bool> passes_on_;
  const int64_t bytes_per_cycle_;   // Worth as much.
  int64_t most_operand_bytes_ = 0;  // Of any layer.
  std::set<std::pair<int32_t, int32_t>> avoided_;
  std::map<std::pair<int32_t, int32_t>, std::vector<Shape>> shapes_;
  // By layer and rows. Layers stay where they are, as searches refer to them.
  struct Piece {
    Piece(const Chip& chip, const Layer& of, int64_t rows)
        : layer(InnerPiece(of, rows)), search(chip, layer) {}
    const Layer layer;
    TilingSearch search;
  };
  std::map<std::pair<int32_t, int64_t>, std::unique_ptr<Piece>> pieces_;
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_CHAIN_SEARCH_H_
