#ifndef EK_COMPILER_CODEGEN_COMPILE_H_
#define EK_COMPILER_CODEGEN_COMPILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// From a partitioned graph to a program for one machine. Pure functions: no
// files, clock, environment, threads or randomness; equal arguments give equal
// bytes on every machine.
namespace edgekiln::compiler {

// Plans every region that an engine runs, as `recipe` has it: empty is each
// engine's own choice. RESOURCE_EXHAUSTED if one does not fit, naming the layer
// and the smallest sufficient memory.
absl::StatusOr<v1::RegionPlans> TilePartition(const v1::Partition& partition,
                                              const v1::Machine& machine,
                                              const v1::TileRecipe& recipe);
// The same with the graph of `partition` as it was read: `partition` itself
// need not hold it.
absl::StatusOr<v1::RegionPlans> TilePartition(const Graph& graph,
                                              const v1::Partition& partition,
                                              const v1::Machine& machine,
                                              const v1::TileRecipe& recipe);

struct EmitResult {
  v1::Program program;
  std::string constants;  // Content of flash; Program.segments refer to it.
  // Bytes used of each of Machine.memories: constants and streams, the peak of
  // activations, the peak of what engines hold.
  std::vector<int64_t> memory_bytes;
  int64_t io_conversion_cycles = 0;  // io_cost.h
};

// `plans` must come from TilePartition on the same arguments; INVALID_ARGUMENT
// if they do not belong to them. RESOURCE_EXHAUSTED if constants or activations
// exceed flash or RAM.
absl::StatusOr<EmitResult> EmitProgram(const v1::Partition& partition,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine);
// As of TilePartition().
absl::StatusOr<EmitResult> EmitProgram(const Graph& graph,
                                       const v1::Partition& partition,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_COMPILE_H_
