#ifndef EK_COMPILER_ENGINES_DLA_BOUND_H_
#define EK_COMPILER_ENGINES_DLA_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {

// Cycles that no plan of these layers, computed one after the other or in
// chains (chain.h), can do without, whatever its tilings, residents and order
// of transfers are.
struct Bound {
  // By layer: of the compute unit. 0 for kAlias.
  std::vector<int64_t> layers;
  // From launch to end of the stream.
  int64_t cycles = 0;
};

// Of plans whose tiles fit the chip's SRAM; `chains`: which of them may have
// chains. `searches` has one per layer, for kAlias unused. The proof is in
// docs/design/0002-dla-scheduling.md.
absl::StatusOr<Bound> BoundOf(const Chip& chip, const SubgraphInput& input,
                              std::vector<TilingSearch>& searches,
                              bool chains = true);

// Raises `bound`, which BoundOf() gave for the same arguments, by what takes
// longer to find: at the ends of the stream, and layer by layer where the SRAM
// is small.
absl::Status TightenBound(const Chip& chip, const SubgraphInput& input,
                          const std::vector<TilingSearch>& searches,
                          bool chains, Bound& bound);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_BOUND_H_
