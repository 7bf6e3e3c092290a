#ifndef EK_COMPILER_ENGINES_DLA_BORDER_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_BORDER_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {

// A layer at which a stream begins or ends, or after which no time is left to
// hide what was moved for it.
struct EndsQuery {
  Residency residency;
  int64_t budget_bytes = 0;
  int64_t computed_before = 0;  // Cycles, from launch to the end of the layer
  int64_t read_before = 0;      // before; of the DMA, for the layers before.
  bool is_first = false;
  bool is_last = false;  // Its output leaves SRAM.
};

// What one layer takes at least, by any of the tilings that plans have, but for
// those of chains. Not thread-safe. `chip` and `layer` must outlive it.
class BorderSearch {
 public:
  BorderSearch(const Chip& chip, const Layer& layer, Cuts cuts);

  // From the end of the layer before to its own: of all tilings that fit
  // `budget_bytes` with one buffer for each operand, the fewest cycles to
  // compute, or to move what they move less `hidden_cycles` of the DMA,
  // whichever is more: what is moved before the layer begins, or after it ends.
  // Empty if none fits.
  absl::StatusOr<std::optional<int64_t>> Fewest(const Residency& residency,
                                                int64_t budget_bytes,
                                                int64_t hidden_cycles);

  // From launch to the end of the layer: its first command needs the tile's
  // operands, its last one comes after all that the layer reads, and the last
  // tile is stored after that. Less where many tilings would have to be looked
  // at. Empty if no tiling fits.
  absl::StatusOr<std::optional<int64_t>> FewestAtEnds(const EndsQuery& query);

 private:
  // A cut of the channels.
  struct Branch {
    size_t channels = 0;
    int64_t cycles = 0;  // To compute it, cut along nothing else.
  };
  bool Fits(const Candidate& candidate, const Residency& residency,
            int64_t budget_bytes) const {
    return costs_.LeastBytes(candidate, residency) <= budget_bytes;
  }
  absl::Status MakeBranches();
  int64_t Moving(Candidate candidate, const Residency& residency) const;
  int64_t Reading(Candidate candidate, const Residency& residency) const;
  int64_t LeastAtEnds(const EndsQuery& query) const;
  absl::StatusOr<int64_t> AtEnds(const Candidate& candidate,
                                 const EndsQuery& query, int64_t reading);

  const Layer& layer_;
  TilingCosts costs_;
  std::vector<Branch> branches_;  // Few cycles first; empty until needed.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_BORDER_SEARCH_H_
