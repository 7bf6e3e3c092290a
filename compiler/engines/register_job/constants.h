#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/ir/graph.h"

// Weights, biases and tables of an op, as jobs read them.
namespace edgekiln::compiler::register_job {

struct Constants {
  std::string bytes;
  // Of each channel tile, in `bytes`; one entry if they are whole.
  std::vector<int64_t> offsets;
};

// Of a placement with constants in place: those of the whole op, once; else
// those of each channel tile.
absl::StatusOr<Constants> PackConstants(const Graph& graph,
                                        const Placement& placement,
                                        const Schedule& schedule);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_H_
