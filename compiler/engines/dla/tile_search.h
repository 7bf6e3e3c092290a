#ifndef EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tile_estimate.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {

// Finds tilings of one layer by branch and bound, and remembers them. Not
// thread-safe. `chip` and `layer` must outlive it.
class TilingSearch {
 public:
  TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts = {});

  const Cuts& cuts() const { return cuts_; }

  // Forgets what was found, so that the next answers do not depend on earlier
  // questions: of tilings that cost the same, one that was found is preferred.
  void Forget() {
    for (std::vector<Found>& found : found_) found.clear();
  }

  // The cheapest tiling whose buffers fit `budget_bytes`: of all candidates and
  // choices of buffers, none has fewer estimated cycles, or as many and fewer
  // DMA bytes. Empty if none fits.
  absl::StatusOr<std::optional<TilingCost>> Best(const Residency& residency,
                                                 int64_t budget_bytes,
                                                 Estimate estimate = {});
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
  // Lower bound on what the candidate, or one of larger rows or columns,
  // exposes, whatever its buffers are. `block_cycles`: its block's part.
  int64_t LeastExposed(const Candidate& candidate, const TilingQuery& query,
                       int64_t block_cycles) const {
    return query.serial || chip_.blocking_dma()
               ? 0
               : block_cycles +
                     costs_.LeastExposedCycles(candidate, query.residency);
  }
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
  std::array<std::vector<Found>, 64> found_;  // By residency and estimate.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
