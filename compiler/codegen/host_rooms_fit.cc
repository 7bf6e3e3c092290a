#include "compiler/codegen/host_rooms_fit.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/ir/shapes.h"
#include "compiler/ir/storage.h"
#include "target/host_cost.h"
#include "target/host_rooms.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();

int64_t Sum(int64_t a, int64_t b) {
  return b > kMaxBytes - a ? kMaxBytes : a + b;
}

absl::StatusOr<target::HostRooms::Bytes> RoomOf(
    const Graph& graph, const Op& op, const target::HostRooms& rooms) {
  EK_ASSIGN_OR_RETURN(
      const target::OpVariables variables,
      target::VariablesOf(op.attributes, ShapesOf(graph, op.inputs),
                          ShapesOf(graph, op.outputs)));
  return rooms.Of(target::OpAttributesName(op.attributes), variables);
}

int64_t ConstantBytes(const Graph& graph,
                      const std::vector<TensorId>& storage) {
  std::set<TensorId> counted;
  int64_t bytes = 0;
  for (const Op& op : graph.ops) {
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const Tensor& stored = graph.tensors[storage[input]];
      if (!stored.is_constant() || !counted.insert(storage[input]).second) {
        continue;
      }
      bytes = Sum(bytes, BytesOf(stored));
    }
  }
  return bytes;
}

// From before the first op to behind the last one.
void KeepPorts(const Graph& graph, const std::vector<TensorId>& storage,
               int64_t end, TensorLives& all) {
  for (const std::vector<TensorId>* ports : {&graph.inputs, &graph.outputs}) {
    for (const TensorId port : *ports) {
      const auto found = std::lower_bound(all.tensors.begin(),
                                          all.tensors.end(), storage[port]);
      if (found == all.tensors.end() || *found != storage[port]) continue;
      BufferLife& life = all.lives[found - all.tensors.begin()];
      life.begin = -1;
      life.end = end;
    }
  }
}

// The op at which most is needed.
struct Peak {
  int32_t op = -1;
  int64_t tensors = 0;
  int64_t room = 0;
  int64_t bytes() const { return Sum(tensors, room); }
};

absl::Status TooSmall(const Graph& graph, const Peak& peak, int64_t constants,
                      int64_t code, const v1::ResolvedMemory& memory) {
  const Op& op = graph.ops[peak.op];
  std::string parts =
      absl::StrCat(peak.tensors, " of tensors, ", peak.room,
                   " that the host's kernel of the op keeps beside them");
  if (constants > 0) absl::StrAppend(&parts, ", ", constants, " of constants");
  if (code > 0) absl::StrAppend(&parts, ", ", code, " of kernels' code");
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "MEMORY_TOO_SMALL",
       .what = "the model does not fit with what the recipe says that host "
               "kernels keep in memory",
       .where = absl::StrCat("memory ", memory.name(), "; op ", op.id, " (",
                             op.kind(), ")"),
       .limit = absl::StrCat(memory.capacity_bytes(), " bytes"),
       .need = absl::StrCat(Sum(Sum(peak.bytes(), constants), code),
                            " bytes: ", parts),
       .fix = "use a recipe without host_rooms, such as \"default\", a target "
              "with more of this memory, or a smaller model"});
}

}  // namespace

absl::Status CheckHostRooms(const Graph& graph, const v1::Partition& partition,
                            const v1::Machine& machine,
                            const v1::TileRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(const target::HostRooms rooms,
                      target::HostRooms::Create(machine, recipe));
  if (rooms.empty()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  std::vector<bool> in_system;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    in_system.push_back(placement.engine() < 0 || recipe.round_trips());
  }
  const std::vector<TensorId> storage = StorageOf(graph);
  const auto ops = static_cast<int64_t>(graph.ops.size());
  TensorLives lives = LivesOf(
      graph, storage, TensorsOfHost(graph, storage, in_system), InOrder(ops));
  if (recipe.ports_stay()) KeepPorts(graph, storage, ops, lives);
  const std::vector<int64_t> alive = AliveBytes(lives, ops);
  Peak peak;
  int64_t code = 0;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    Peak here = {i, alive[i + 1], 0};
    if (partition.placements(i).engine() < 0) {
      EK_ASSIGN_OR_RETURN(const target::HostRooms::Bytes room,
                          RoomOf(graph, graph.ops[i], rooms));
      here.room = room.data;
      code = Sum(code, room.code);
    }
    if (peak.op < 0 || here.bytes() > peak.bytes()) peak = here;
  }
  if (peak.op < 0) return absl::OkStatus();
  const int64_t constants = ConstantBytes(graph, storage);
  const bool together =
      memories.rams.size() == 1 && memories.rams[0] == memories.flash;
  const v1::ResolvedMemory ram = Together(machine, memories.rams);
  const int64_t beside = together ? Sum(constants, code) : 0;
  if (Sum(peak.bytes(), beside) <= ram.capacity_bytes()) {
    return absl::OkStatus();
  }
  return TooSmall(graph, peak, together ? constants : 0, together ? code : 0,
                  ram);
}

}  // namespace edgekiln::compiler
