#ifndef EK_COMPILER_CODEGEN_PLACEMENT_H_
#define EK_COMPILER_CODEGEN_PLACEMENT_H_

#include "absl/status/statusor.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// A partition of PartitionGraph() with each op where the whole network is
// predicted to take the fewest cycles, as far as a bounded search finds: from
// each op where partition has it, or where it is fastest alone, one op at a
// time moves for as long as that gains. With ALL, or unspecified, ops move
// between the engines that take them; with PAYING also to the host, and the
// prediction is never above that of ALL. What partition left to the host stays
// there.
//
// Predicted are the back ends' estimates, moves at borders included, and the
// host's cost table; with engines that the host drives, in the order in which
// it would start them. An engine whose memory is too small for an op is no
// choice; an op without any other stays where it is. Reasons say the cycles of
// all choices. INVALID_ARGUMENT if the arguments are not of one target.
absl::StatusOr<v1::Partition> PlaceByCycles(
    const v1::Partition& partition, const v1::Capabilities& capabilities,
    const v1::Machine& machine, v1::Offload offload);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLACEMENT_H_
