#ifndef EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {

struct TilingCost {
  Tiling tiling;
  int64_t cycles = 0;      // Estimate: what overlaps, and what cannot.
  int64_t dma_bytes = 0;   // Both ways.
  int64_t sram_bytes = 0;  // Of its buffers.
  int64_t transfers = 0;
  int64_t block_bytes = 0;  // Of dma_bytes, those of blocks.
  bool operator<(const TilingCost& other) const {
    return std::tie(cycles, dma_bytes) <
           std::tie(other.cycles, other.dma_bytes);
  }
};

// What is asked for: which tensors are resident, how many bytes the layer's
// buffers may take, and whether moves and computation take turns.
struct TilingQuery {
  Residency residency;
  int64_t budget_bytes = 0;
  bool serial = false;
  // Blocks that all have a buffer at once cost nothing: they arrive while the
  // layers before compute.
  bool early_blocks = false;
};

// The cheapest choice of buffers for a tiling, whose own choice does not count;
// empty if none fits. An operand with one tile has one buffer.
std::optional<TilingCost> CostOf(const Chip& chip, const Layer& layer,
                                 const Tiling& tiling, const Work& work,
                                 int64_t compute_cycles,
                                 const TilingQuery& query);

// Finds tilings of one layer by branch and bound, and remembers them. Not
// thread-safe. `chip` and `layer` must outlive it.
class TilingSearch {
 public:
  TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts = {});

  const Cuts& cuts() const { return cuts_; }

  // The cheapest tiling whose buffers fit `budget_bytes`: of all candidates and
  // choices of buffers, none has fewer estimated cycles, or as many and fewer
  // DMA bytes. Empty if none fits.
  absl::StatusOr<std::optional<TilingCost>> Best(const Residency& residency,
                                                 int64_t budget_bytes,
                                                 bool early_blocks = false);
  // The same if nothing is resident, nothing overlaps, and each operand has one
  // buffer.
  absl::StatusOr<std::optional<TilingCost>> BestSerial(int64_t budget_bytes);

  // None of these tilings whose tile fits `budget_bytes`, however its buffers
  // and moves are chosen, computes the layer in fewer cycles of the compute
  // unit. Zero if none fits.
  absl::StatusOr<int64_t> FewestComputeCycles(int64_t budget_bytes);

 private:
  // A cut of the channels.
  struct Branch {
    size_t channels = 0;
    int64_t cycles = 0;  // To compute it, cut along nothing else.
  };

  static absl::Status MakeBranches(TilingCosts& costs,
                                   std::vector<Branch>& branches);
  // With one buffer for each operand.
  bool Fits(const Candidate& candidate, const TilingQuery& query) const;
  // Cuts of the input channels that fit with the smallest rows and columns.
  std::vector<size_t> InputsThatFit(size_t channels,
                                    const TilingQuery& query) const;
  // Index of the largest size along one axis of `count` sizes that fits the
  // budget; `count` if none does.
  size_t FirstThatFits(Candidate candidate, size_t Candidate::*axis,
                       size_t count, const TilingQuery& query) const;
  size_t FirstRows(const Candidate& candidate, const TilingQuery& query) const;
  // With the smallest rows.
  size_t FirstColumns(Candidate candidate, const TilingQuery& query) const;
  absl::Status SearchPixels(Candidate candidate, const TilingQuery& query,
                            int64_t floor, std::optional<TilingCost>& best);
  int64_t LeastCycles(const Work& work, int64_t compute_cycles,
                      const TilingQuery& query) const;
  bool CanBeat(Candidate candidate, const Work& work, int64_t compute_cycles,
               const TilingQuery& query, bool can_hold,
               const TilingCost& best) const;
  absl::Status Consider(Candidate candidate, const TilingQuery& query,
                        int64_t& floor, std::optional<TilingCost>& best,
                        bool& hopeful);
  absl::StatusOr<std::optional<TilingCost>> Search(
      const TilingQuery& query, std::optional<TilingCost> best);

  const Chip& chip_;
  const Layer& layer_;
  const Cuts cuts_;
  TilingCosts costs_;
  std::vector<Branch> branches_;  // Few cycles first; empty until needed.
  // What was found within a budget.
  struct Found {
    int64_t budget_bytes = 0;
    std::optional<TilingCost> cost;
  };
  std::array<std::vector<Found>, 32> found_;  // By residency, early blocks.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
