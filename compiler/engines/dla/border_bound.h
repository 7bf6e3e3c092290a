#ifndef EK_COMPILER_ENGINES_DLA_BORDER_BOUND_H_
#define EK_COMPILER_ENGINES_DLA_BORDER_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

// Cycles that no plan of these layers takes less than, as each layer, or chain,
// has to compute and to move what it moves between the end of the one before
// and its own, but for what SRAM holds then. `fewest_cycles`: what no tiling of
// a layer can do without, by layer. The proof is in
// docs/design/0002-dla-scheduling.md.
absl::StatusOr<int64_t> BoundByBorders(
    const Chip& chip, const SubgraphInput& input, Cuts cuts,
    const std::vector<int64_t>& fewest_cycles, bool chains);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_BORDER_BOUND_H_
