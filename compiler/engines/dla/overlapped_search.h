#ifndef EK_COMPILER_ENGINES_DLA_OVERLAPPED_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_OVERLAPPED_SEARCH_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/bound.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {

// The fastest of the plans that are tried, in which transfers and computation
// overlap; with `may_chain` also of those with chains. Nothing if none fits.
// `searches` has one per layer.
absl::StatusOr<std::optional<TimedPlan>> FindOverlapped(
    const Chip& chip, const SubgraphInput& input,
    std::vector<TilingSearch>& searches, const Bound& bound, bool may_chain);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_OVERLAPPED_SEARCH_H_
