#include "compiler/codegen/system_rooms.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/rooms.h"
#include "compiler/codegen/step_rooms.h"
#include "compiler/engines/backend.h"

namespace edgekiln::compiler {

absl::StatusOr<std::vector<bool>> PlacesInSystem(const Graph& graph,
                                                 const Views& views,
                                                 const v1::Partition& partition,
                                                 const v1::RegionPlans& plans) {
  std::vector<bool> on_host;
  for (const auto& placement : partition.placements()) {
    on_host.push_back(placement.engine() < 0 &&
                      !views.IsNothing(placement.op()));
  }
  std::vector<bool> in_system = TensorsOfHost(graph, views.places(), on_host);
  const RegionMaker maker(graph);
  for (const v1::RegionPlan& plan : plans.regions()) {
    for (const int32_t op : plan.ops()) {
      if (op < 0 || op >= std::ssize(graph.ops)) {
        return absl::InvalidArgumentError("a region has an unknown op");
      }
    }
    const Region region = maker.Make({plan.ops().begin(), plan.ops().end()});
    std::vector<TensorId> kept(plan.resident().begin(), plan.resident().end());
    for (const v1::RegionPlan::Buffer& buffer : plan.buffers()) {
      if (buffer.has_tensor()) kept.push_back(buffer.tensor());
    }
    std::vector<TensorId> borders = OutputsOf(region);
    borders.insert(borders.end(), region.inputs.begin(), region.inputs.end());
    for (const TensorId tensor : borders) {
      if (std::find(kept.begin(), kept.end(), tensor) == kept.end()) {
        in_system[views.places()[tensor]] = true;
      }
    }
  }
  return in_system;
}

BytesOfTensor BytesInSystem(const Views& views, const v1::RegionPlans& plans,
                            const std::vector<int32_t>& rams) {
  BytesOfTensor bytes;
  for (const v1::RegionPlan& plan : plans.regions()) {
    for (const v1::RegionPlan::Border& border : plan.borders()) {
      if (std::find(rams.begin(), rams.end(), border.memory()) == rams.end() ||
          border.tensor() < 0 ||
          border.tensor() >= std::ssize(views.places())) {
        continue;
      }
      int64_t& size = bytes[views.places()[border.tensor()]];
      size = std::max(size, border.layout().size_bytes());
    }
  }
  return bytes;
}

absl::StatusOr<RamPlan> PlanSystemRooms(
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const v1::RegionPlans& plans, const std::vector<Work>& works,
    const TurnPlan& turns, const v1::Machine& machine,
    const std::vector<int32_t>& rams, const RamOfTensor* ram_of) {
  EK_ASSIGN_OR_RETURN(const std::vector<bool> in_system,
                      PlacesInSystem(graph, views, partition, plans));
  OpTimes times;
  times.end = static_cast<int64_t>(turns.turns.size());
  // Reshapes and folded ops do not run, so they use nothing.
  times.of_op.assign(graph.ops.size(), {0, -1});
  const auto turn_of = TurnsOfSteps(works, turns);
  for (int32_t w = 0; w < std::ssize(works); ++w) {
    std::pair<int64_t, int64_t> time = {times.end, -1};
    for (int32_t s = 0; s < std::ssize(works[w].steps); ++s) {
      const TurnSpan span = SpanOf(turns, w, s, turn_of);
      time = {std::min(time.first, span.begin),
              std::max(time.second, span.end)};
    }
    if (works[w].region < 0) {
      times.of_op[works[w].op] = time;
      continue;
    }
    for (const int32_t op : plans.regions(works[w].region).ops()) {
      times.of_op[op] = time;
    }
  }
  const StepRooms step_rooms(plans, machine, rams[0]);
  return PlanRam(graph, views.places(), in_system, times, machine, rams, ram_of,
                 BytesInSystem(views, plans, rams), step_rooms.bytes());
}

absl::StatusOr<RamPlan> ReadSystemRooms(const Graph& graph, const Views& views,
                                        const v1::Partition& partition,
                                        const v1::RegionPlans& plans,
                                        const v1::Machine& machine,
                                        const std::vector<int32_t>& rams) {
  EK_ASSIGN_OR_RETURN(const std::vector<bool> in_system,
                      PlacesInSystem(graph, views, partition, plans));
  const absl::Status foreign = absl::InvalidArgumentError(
      "the rooms of system memory belong to another partition");
  const BytesOfTensor sizes = BytesInSystem(views, plans, rams);
  RamPlan plan;
  plan.bytes.assign(machine.memories_size(), 0);
  for (const v1::RegionPlans::SystemRoom& room : plans.system_rooms()) {
    if (room.tensor() < 0 || room.tensor() >= std::ssize(graph.tensors) ||
        std::find(rams.begin(), rams.end(), room.memory()) == rams.end()) {
      return foreign;
    }
    const v1::ResolvedMemory& memory = machine.memories(room.memory());
    const auto found = sizes.find(room.tensor());
    const int64_t bytes = found != sizes.end()
                              ? found->second
                              : BytesOf(graph.tensors[room.tensor()]);
    const auto capacity = static_cast<uint64_t>(memory.capacity_bytes());
    const uint64_t offset = room.address() - memory.base_address();
    if (room.address() < memory.base_address() || offset > capacity ||
        static_cast<uint64_t>(bytes) > capacity - offset) {
      return foreign;
    }
    plan.address[room.tensor()] = room.address();
    plan.bytes[room.memory()] =
        std::max(plan.bytes[room.memory()],
                 static_cast<int64_t>(offset) + std::max<int64_t>(bytes, 1));
  }
  for (size_t t = 0; t < in_system.size(); ++t) {
    if (in_system[t] && !plan.address.contains(static_cast<TensorId>(t))) {
      return foreign;
    }
  }
  return plan;
}

}  // namespace edgekiln::compiler
