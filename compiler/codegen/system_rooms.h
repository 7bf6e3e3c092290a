#ifndef EK_COMPILER_CODEGEN_SYSTEM_ROOMS_H_
#define EK_COMPILER_CODEGEN_SYSTEM_ROOMS_H_

// Where tensors lie in system memory, on machines with engines that the host
// drives.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/turns.h"
#include "compiler/codegen/views.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// By place, whether it lies in system memory: all that do not stay in engines'
// memory. INVALID_ARGUMENT if a region does not belong to the graph.
absl::StatusOr<std::vector<bool>> PlacesInSystem(const Graph& graph,
                                                 const Views& views,
                                                 const v1::Partition& partition,
                                                 const v1::RegionPlans& plans);

// Bytes of places in system memory that lie in another layout than the dense
// one, as borders of the regions say.
BytesOfTensor BytesInSystem(const Views& views, const v1::RegionPlans& plans,
                            const std::vector<int32_t>& rams);

// Addresses for these places, each alive over the turns that use it. With
// `ram_of`, in the memories named there. RESOURCE_EXHAUSTED as of PlanRam().
absl::StatusOr<RamPlan> PlanSystemRooms(
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const v1::RegionPlans& plans, const std::vector<Work>& works,
    const TurnPlan& turns, const v1::Machine& machine,
    const std::vector<int32_t>& rams, const RamOfTensor* ram_of);

// The addresses that `plans` records. INVALID_ARGUMENT if one of
// PlacesInSystem() has none, or lies outside `rams`.
absl::StatusOr<RamPlan> ReadSystemRooms(const Graph& graph, const Views& views,
                                        const v1::Partition& partition,
                                        const v1::RegionPlans& plans,
                                        const v1::Machine& machine,
                                        const std::vector<int32_t>& rams);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_SYSTEM_ROOMS_H_
