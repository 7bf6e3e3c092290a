#ifndef EK_COMPILER_CODEGEN_CHECK_FIT_H_
#define EK_COMPILER_CODEGEN_CHECK_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Refuses what TilePartition or EmitProgram would refuse for lack of memory,
// long before them: with their RESOURCE_EXHAUSTED, from sizes alone, in time
// that grows with the number of ops. `deployed` is the graph that will be
// compiled, or its QuantizedForm().
//
// What compiles is never refused: needs are lower bounds, which hold whether
// inputs and outputs become integers or stay real, wherever engines keep
// tensors and in whatever pieces, and whatever calibration finds. (One
// exception: a layer at a mask stays float, on the host, where no SRAM limits
// it.) An accepted model may still turn out not to fit. Too little memory of
// one engine is no error if another engine takes the op, or with PAYING, where
// the host runs it.
absl::Status CheckFits(Graph deployed, const v1::Capabilities& capabilities,
                       const v1::Machine& machine, v1::Offload offload);

// The same in two steps: what can be said of all machines with these engines,
// and the check for one of them.
struct PlacedForFit {
  Graph graph;
  v1::Offload offload = v1::OFFLOAD_UNSPECIFIED;
  // By op, empty with NONE: the engine, the engines that take it alone, and
  // whether it is certain to be on one of them.
  std::vector<int32_t> engines;
  std::vector<std::vector<Taker>> takers;
  std::vector<bool> is_certain;
};
absl::StatusOr<PlacedForFit> PlaceForFit(Graph deployed,
                                         const v1::Capabilities& capabilities,
                                         v1::Offload offload);
absl::Status CheckFits(const PlacedForFit& placed, const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_CHECK_FIT_H_
