#ifndef EK_COMPILER_ENGINES_DLA_LAYER_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_LAYER_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

// A tiling with its buffers, and what no stream of it can do without.
struct BoundedTiling {
  Tiling tiling;
  // Nothing overlaps, and buffers are as small as their bytes: may fit where
  // nothing else does.
  bool strict = false;
  int64_t least_cycles = 0;
};

// All tilings of a layer that is alone in its subgraph, but for those that take
// `below_cycles` or more, few cycles first: rows x columns x output channels x
// input channels x order x whole input x one buffer or more of each operand. At
// most `most_looked_at` combinations of the first six are looked at;
// `all_looked_at` says whether that was enough.
struct BoundedTilings {
  std::vector<BoundedTiling> tilings;
  bool all_looked_at = true;
};
absl::StatusOr<BoundedTilings> TilingsOfLayer(const Chip& chip,
                                              const Layer& layer, Cuts cuts,
                                              int64_t below_cycles,
                                              int64_t most_looked_at);

// The only layer that computes anything; empty if there are several.
std::optional<size_t> OnlyLayer(const SubgraphInput& input);

// What is spent on one layer at most.
struct LayerSearchLimits {
  int64_t commands = 100'000;  // That are scheduled.
  // Tilings that are looked at, without their buffers.
  int64_t looked_at = 1 << 15;
};

// The fastest plan of OnlyLayer(), or `plan` if none is faster: the tilings
// above are timed with each way to run loads ahead, until none that is left can
// be faster, or the limits are reached, as small layers do not. The schedule is
// left in `scratch`, whose memory it takes.
absl::StatusOr<TimedPlan> SearchLayer(const Chip& chip,
                                      const SubgraphInput& input,
                                      const Cuts& cuts, TimedPlan plan,
                                      Schedule& scratch,
                                      const LayerSearchLimits& limits = {});

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_LAYER_SEARCH_H_
