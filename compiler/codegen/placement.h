#ifndef EK_COMPILER_CODEGEN_PLACEMENT_H_
#define EK_COMPILER_CODEGEN_PLACEMENT_H_

#include "absl/status/statusor.h"
#include "compiler/codegen/estimate_memo.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Moves ops of a partition, which is one of PartitionGraph(), to where the
// whole network is predicted to take the fewest cycles. The search is bounded:
// it starts from the partition, and from each op where it is fastest alone, and
// moves one op at a time while that gains. With ALL, or unspecified, ops move
// between the engines that take them; with PAYING also to the host, and the
// prediction is never above that of ALL. What partition left to the host stays
// there.
//
// An op split in two halves (partition/op_split.h) moves as a pair: each half
// to any engine that takes it (with PAYING, the second one also to the host),
// or both become the whole op again, on an engine that takes it (with PAYING,
// also on the host, which never runs a first half alone). So the result may
// have other ops split than `partition`.
//
// A prediction adds up the back ends' estimates, moves at borders included, and
// the host's cost table; for engines that the host drives, in the order in
// which it would start them. An engine whose memory is too small for an op is
// not considered; an op without any other choice stays where it is. Each op's
// reason lists the cycles of its choices. INVALID_ARGUMENT if the arguments are
// not of one target. `memo`, of the machine, changes speed only; may be null.
absl::StatusOr<v1::Partition> PlaceByCycles(
    const v1::Partition& partition, const v1::Capabilities& capabilities,
    const v1::Machine& machine, v1::Offload offload,
    EstimateMemo* memo = nullptr);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLACEMENT_H_
