#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler::register_job {

// The constants of an op as stored in flash: for each cut of the output
// channels, the weights in the engine's layout (gaps are 0), then the table:
// int32 bias, multiplier and shift per channel. One move loads a cut.
struct Constants {
  std::string bytes;
  std::vector<int64_t> offsets;  // Of each cut; empty if the op has none.
};
absl::StatusOr<Constants> PackConstants(const Graph& graph,
                                        const Placement& placement,
                                        const Schedule& schedule);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_
