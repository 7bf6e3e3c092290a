#ifndef EK_COMPILER_CODEGEN_HOST_ROOMS_FIT_H_
#define EK_COMPILER_CODEGEN_HOST_ROOMS_FIT_H_

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Whether system memory holds the network together with what the recipe says
// that host kernels keep there (TileRecipe.host_rooms): at each op, in order,
// all tensors that are needed then and the room of that op; beside them, where
// one memory holds everything, constants as the graph has them, and code. OK
// without such rooms. RESOURCE_EXHAUSTED names the memory, the bytes needed and
// what they are. `graph` is that of `partition`.
absl::Status CheckHostRooms(const Graph& graph, const v1::Partition& partition,
                            const v1::Machine& machine,
                            const v1::TileRecipe& recipe);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_ROOMS_FIT_H_
