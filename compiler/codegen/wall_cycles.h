#ifndef EK_COMPILER_CODEGEN_WALL_CYCLES_H_
#define EK_COMPILER_CODEGEN_WALL_CYCLES_H_

// Predictions in cycles of the machine's wall clock.

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/codegen/host_form.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {

// `cycles` of a clock of `clock_hz`, rounded up.
int64_t WallCycles(int64_t cycles, int64_t clock_hz,
                   const v1::Machine& machine);

// Wall cycles of an op that the host runs, by the costs of `machine`; 0 for a
// reshape. OUT_OF_RANGE on overflow.
absl::StatusOr<int64_t> HostOpCycles(const Graph& graph, const Op& op,
                                     const v1::Machine& machine,
                                     const target::HostCosts& costs);
// The same of an op in another form.
absl::StatusOr<int64_t> HostOpCycles(const HostForm& form,
                                     const v1::Machine& machine,
                                     const target::HostCosts& costs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_WALL_CYCLES_H_
