#include "compiler/engines/register_job/backend.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/emit.h"
#include "compiler/engines/register_job/layouts.h"
#include "compiler/engines/register_job/operation.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/planner.h"
#include "compiler/engines/register_job/register_text.h"
#include "compiler/engines/register_job/sequence.h"
#include "compiler/engines/register_job/tile_costs.h"
#include "compiler/engines/register_job/tiles.h"
#include "compiler/ir/storage.h"
#include "target/layout.h"
#include "target/memories.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;

// All roles in which the op has the tensor (by storage), its whole layout
// there, for the shape of that tensor.
absl::StatusOr<v1::Layout> LayoutOfTensor(const Region& region,
                                          const Placement& placement,
                                          TensorId tensor) {
  const Tensor& stored = region.graph->tensors[tensor];
  const struct {
    const Operand* operand;
    JobOperand role;
  } roles[] = {{&placement.input, JobOperand::kIn},
               {&placement.input2, JobOperand::kIn2},
               {&placement.output, JobOperand::kOut}};
  std::optional<v1::Layout> found;
  const auto refuse = [&](absl::string_view why) {
    return absl::UnimplementedError(
        absl::StrCat("tensor ", stored.name, ": ", why));
  };
  for (const auto& [operand, role] : roles) {
    if (operand->tensor != tensor) continue;
    EK_ASSIGN_OR_RETURN(const v1::Layout image, WholeLayout(placement, role));
    std::optional<v1::Layout> layout = InShape(image, stored.shape);
    if (!layout) {
      return refuse("no layout of its shape says where the engine has it");
    }
    if (found && found->SerializeAsString() != layout->SerializeAsString()) {
      return refuse("the engine wants it in two layouts");
    }
    found = std::move(layout);
  }
  if (!found) return refuse("the op neither reads nor makes it");
  return *std::move(found);
}

// What a budget says of the borders.
struct Borders {
  int32_t ram = 0;
  Residents residents;
};

absl::StatusOr<Borders> BordersOf(const Region& region, const Budget& budget,
                                  const Chip& chip) {
  const Graph& graph = *region.graph;
  const v1::Machine& machine = chip.machine();
  Borders borders;
  std::optional<int32_t> ram;
  for (const Budget::Border& border : budget.borders) {
    if (border.tensor < 0 || border.tensor >= std::ssize(graph.tensors) ||
        border.memory < 0 || border.memory >= machine.memories_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the budget has a border of tensor ", border.tensor,
                       " in memory ", border.memory));
    }
    const Tensor& tensor = graph.tensors[border.tensor];
    const auto refuse = [&](std::string what, std::string need) {
      return MakeError(
          absl::StatusCode::kUnimplemented,
          {.reason = "BORDER_UNSUPPORTED",
           .what = std::move(what),
           .where = absl::StrCat("tensor ", tensor.name, " in memory ",
                                 machine.memories(border.memory).name()),
           .need = std::move(need),
           .fix = "plan with the tensor dense in system memory"});
    };
    if (border.resident) {
      if (border.memory != chip.memory()) {
        return refuse("the engine does not reach a resident tensor",
                      "a tensor in the engine's own memory");
      }
      EK_ASSIGN_OR_RETURN(const Placement placement,
                          PlaceOperands(chip, region, border.memory, {}));
      EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                          LayoutOfTensor(region, placement, border.tensor));
      if (layout.SerializeAsString() != border.layout.SerializeAsString()) {
        return refuse("the engine has the tensor in another layout",
                      "the layout that OperandLayout() gives");
      }
      borders.residents[border.tensor] = border.memory;
      continue;
    }
    const v1::Layout dense =
        target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
    if (!machine.memories(border.memory).host_reaches() ||
        border.layout.SerializeAsString() != dense.SerializeAsString()) {
      return refuse("the host brings tiles of dense tensors only",
                    "a dense layout in a memory that the host reaches");
    }
    if (ram.value_or(border.memory) != border.memory) {
      return refuse("tensors lie in two system memories", "one of them");
    }
    ram = border.memory;
  }
  borders.ram = ram.value_or(0);
  return borders;
}

// A region of each op in turn; only what placing an op reads.
Region RegionOfOp(const Graph& graph, const std::vector<TensorId>& storage,
                  int32_t op) {
  Region region;
  region.graph = &graph;
  region.ops = {op};
  region.storage = storage;
  return region;
}

// The system memory of activations; -1 if there is none.
int32_t RamOf(const v1::Machine& machine) {
  int32_t ram = -1;
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (memory.host_reaches() && target::IsWritable(memory)) ram = m;
  }
  return ram;
}

class RegisterJobBackend final : public EngineBackend {
 public:
  bool HostDriven() const override { return true; }

  absl::StatusOr<v1::Layout> OperandLayout(const Region& region,
                                           TensorId tensor,
                                           const v1::Machine& machine,
                                           int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, engine));
    EK_ASSIGN_OR_RETURN(const Placement placement,
                        PlaceOperands(chip, region, 0, {}));
    return LayoutOfTensor(region, placement, region.storage[tensor]);
  }

  absl::Status CheckSmallest(const Graph& graph,
                             const std::vector<int32_t>& ops,
                             const v1::Machine& machine,
                             int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, engine));
    const v1::ResolvedMemory& memory = machine.memories(chip.memory());
    const std::vector<TensorId> storage = StorageOf(graph);
    int64_t most = 0;
    int32_t largest = -1;
    for (const int32_t op : ops) {
      const auto placement = PlaceOperands(chip, RegionOfOp(graph, storage, op),
                                           RamOf(machine), {});
      // Made-up scales may not go together.
      if (!placement.ok()) continue;
      // Of all tiles the smallest, as layouts grow with extents.
      const TileSet tiles(placement->operation, {1, 1, 1});
      EK_ASSIGN_OR_RETURN(const auto needs,
                          TileCosts(*placement).NeedsOf(tiles));
      const int64_t bytes = needs ? RoomBytes(*needs, {}) : 0;
      if (bytes > most) {
        most = bytes;
        largest = op;
      }
    }
    if (most <= memory.capacity_bytes()) return absl::OkStatus();
    return MemoryTooSmall(graph, largest, memory, memory.capacity_bytes(),
                          most);
  }

  int64_t ConstantBytesBesideWeights(const Graph& graph,
                                     const Op& op) const override {
    return graph.tensors[op.outputs[0]].shape.back() *
           target::kJobTableEntryBytes;
  }

  absl::StatusOr<int64_t> EstimateCycles(const Region& region,
                                         const v1::Machine& machine,
                                         int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, engine));
    const int32_t ram = RamOf(machine);
    const int64_t capacity = machine.memories(chip.memory()).capacity_bytes();
    EK_ASSIGN_OR_RETURN(const Placement in_ram,
                        PlaceOperands(chip, region, ram, {}));
    Residents residents;
    for (const Operand* operand :
         {&in_ram.input, &in_ram.input2, &in_ram.output}) {
      if (!operand->present()) continue;
      if (LayoutOfTensor(region, in_ram, operand->tensor).ok()) {
        residents[operand->tensor] = chip.memory();
      }
    }
    EK_ASSIGN_OR_RETURN(const Placement resident,
                        PlaceOperands(chip, region, ram, residents));
    const auto cycles = EstimateRegion(*region.graph, resident, capacity);
    if (!absl::IsResourceExhausted(cycles.status())) return cycles;
    return EstimateRegion(*region.graph, in_ram, capacity);
  }

  absl::StatusOr<v1::RegionPlan> Plan(
      const Region& region, const Budget& budget, const v1::Machine& machine,
      int32_t engine, const google::protobuf::Any& recipe) const override {
    if (!recipe.type_url().empty()) {
      return absl::InvalidArgumentError(
          "a recipe decides nothing for this engine's model");
    }
    if (std::ssize(budget.memory_bytes) != machine.memories_size()) {
      return absl::InvalidArgumentError(
          "the budget is not for this machine's memories");
    }
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, engine));
    EK_ASSIGN_OR_RETURN(const Borders borders, BordersOf(region, budget, chip));
    EK_ASSIGN_OR_RETURN(
        const Placement placement,
        PlaceOperands(chip, region, borders.ram, borders.residents));
    EK_ASSIGN_OR_RETURN(
        v1::RegionPlan plan,
        PlanRegion(*region.graph, placement,
                   std::min(budget.memory_bytes[chip.memory()],
                            machine.memories(chip.memory()).capacity_bytes())));
    plan.set_engine(engine);
    return plan;
  }

  absl::StatusOr<RegionCode> Emit(const Region& region,
                                  const v1::RegionPlan& plan,
                                  const v1::Machine& machine,
                                  const RegionMemory& memory) const override {
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, plan.engine()));
    Residents residents;
    for (const TensorId tensor : plan.resident()) {
      residents[tensor] = chip.memory();
    }
    EK_ASSIGN_OR_RETURN(const Placement placement,
                        PlaceOperands(chip, region, memory.ram, residents));
    return EmitRegion(*region.graph, placement, plan, memory);
  }

  absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine,
      absl::string_view code) const override {
    return WritesToText(engine.jobs(), code);
  }

  absl::StatusOr<std::string> Assemble(const v1::Machine::Engine& engine,
                                       absl::string_view text) const override {
    return WritesFromText(engine.jobs(), text);
  }
};

}  // namespace

const EngineBackend& Backend() {
  static const RegisterJobBackend* const backend = new RegisterJobBackend;
  return *backend;
}

}  // namespace edgekiln::compiler::register_job
