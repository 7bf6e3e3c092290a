#ifndef EK_COMPILER_PARTITION_PARTITION_H_
#define EK_COMPILER_PARTITION_PARTITION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/op_split.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

// Decides which engine runs each op, and says why. Knows what engines can do,
// not how big their memories are, so that its result holds for every variant
// of a chip.
namespace edgekiln::compiler {

// Places every op of a quantized graph: on the first engine one of whose
// patterns takes it, else on the host. A Reshape moves no bytes and follows its
// neighbour. Ops that an engine only runs as a chain become neighbours.
// Consecutive ops on one engine form a subgraph, numbered from 0 in order of
// execution; host ops count as subgraphs of their own runs. Convolutions in
// groups are rewritten for engines, which have none (ungroup.h), and kernels
// padded to sizes that they have (pad_kernels.h). An op of which
// the engine only gives int32 sums, or whose limits it does not have, becomes
// two (op_split.h): its first half, and a Requantize or Clip, on the same
// engine if that can, else on another, else on the host. INVALID_ARGUMENT if
// the graph does not verify, or the capabilities are not what targets are
// resolved to.
absl::StatusOr<v1::Partition> PartitionGraph(
    const Graph& source, const v1::Capabilities& capabilities);

// What the engines are asked first under `recipe`: of those that it names, the
// patterns that give int32 sums come before all others. INVALID_ARGUMENT if it
// names one that is not there.
absl::StatusOr<v1::Capabilities> InOrderOf(const v1::PartitionRecipe& recipe,
                                           v1::Capabilities capabilities);

// Everything on the host, for jobs with offload NONE; grouped convolutions are
// not rewritten. Errors: as of PartitionGraph().
absl::StatusOr<v1::Partition> PartitionOnHost(const Graph& graph);

struct Placement {
  int32_t engine = -1;  // -1: the host.
  std::string reason;
};

// A partition with these placements, one per op. Those of reshapes are ignored.
v1::Partition PartitionOf(const Graph& graph,
                          std::vector<Placement> placements);

struct Taker {
  int32_t engine = 0;
  OpSplit split = OpSplit::kNone;  // What it takes the first half of.
  bool operator==(const Taker&) const = default;
};

// By op, the engines that take it alone, rising. None for reshapes, and for
// members of chains, which stay together. INVALID_ARGUMENT as above.
absl::StatusOr<std::vector<std::vector<Taker>>> EnginesThatTake(
    const Graph& graph, const v1::Capabilities& capabilities);

// The engine of each op, -1 for the host, as PartitionGraph places it, or its
// first half if it is split; `graph` as it is, convolutions in groups included.
// Reads no constant but weights. INVALID_ARGUMENT as above.
absl::StatusOr<std::vector<int32_t>> EnginesOf(
    const Graph& graph, const v1::Capabilities& capabilities);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PARTITION_H_
