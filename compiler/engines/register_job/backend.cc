#include "compiler/engines/register_job/backend.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/choice_memo.h"
#include "compiler/engines/register_job/dense_blocks.h"
#include "compiler/engines/register_job/emit.h"
#include "compiler/engines/register_job/model_in_c.h"
#include "compiler/engines/register_job/operation.h"
#include "compiler/engines/register_job/padded_channels.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/planner.h"
#include "compiler/engines/register_job/register_text.h"
#include "compiler/engines/register_job/search.h"
#include "compiler/engines/register_job/sequence.h"
#include "compiler/engines/register_job/tile_costs.h"
#include "compiler/engines/register_job/tiles.h"
#include "compiler/ir/storage.h"
#include "target/layout.h"
#include "target/layout_parts.h"
#include "target/memories.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;

// Layouts of the tensor (by storage) in each operand role it has in the op,
// reshaped to that tensor's shape.
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
    std::optional<v1::Layout> layout = target::InShape(image, stored.shape);
    if (!layout) {
      return refuse("no layout of its shape says where the engine has it");
    }
    if (found && found->SerializeAsString() != layout->SerializeAsString()) {
      return refuse("the engine would need it in two layouts at once");
    }
    found = std::move(layout);
  }
  if (!found) return refuse("the op neither reads nor makes it");
  return *std::move(found);
}

// The border for PlaceOperands(), if the engine can have it. Bytes come from a
// budget or from a plan.
absl::StatusOr<Border> ReadBorder(const Region& region, const Chip& chip,
                                  TensorId id, int32_t memory,
                                  const v1::Layout& layout) {
  const Graph& graph = *region.graph;
  const v1::Machine& machine = chip.machine();
  if (id < 0 || id >= std::ssize(graph.tensors) || memory < 0 ||
      memory >= machine.memories_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a border of tensor ", id, " in memory ", memory));
  }
  const Tensor& tensor = graph.tensors[id];
  EK_ASSIGN_OR_RETURN(const target::Layout read, target::Layout::Create(layout),
                      absl::StrCat("tensor ", tensor.name));
  if (read.element_bytes() != ElementBytes(tensor.type) ||
      read.extents() != absl::MakeConstSpan(tensor.shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name, " in the layout of another"));
  }
  if (memory == chip.memory() || machine.memories(memory).host_reaches()) {
    return Border{memory, target::Canonical(layout)};
  }
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "BORDER_UNSUPPORTED",
       .what = "a tensor lies where neither the engine nor the host's code "
               "reaches it",
       .where = absl::StrCat("tensor ", tensor.name, " in memory ",
                             machine.memories(memory).name()),
       .need = "system memory, or the engine's own",
       .fix = "plan with the tensor dense in system memory"});
}

absl::StatusOr<Borders> BordersOf(const Region& region, const Budget& budget,
                                  const Chip& chip) {
  Borders borders;
  for (const Budget::Border& border : budget.borders) {
    EK_ASSIGN_OR_RETURN(Border read, ReadBorder(region, chip, border.tensor,
                                                border.memory, border.layout));
    read.over = border.over;
    borders[border.tensor] = std::move(read);
  }
  return borders;
}

// A region of one op; only the fields that PlaceOperands() reads.
Region RegionOfOp(const Graph& graph, const std::vector<TensorId>& storage,
                  int32_t op) {
  Region region;
  region.graph = &graph;
  region.ops = {op};
  region.storage = storage;
  return region;
}

// The first system memory of activations; -1 if there is none.
int32_t RamOf(const v1::Machine& machine) {
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (memory.host_reaches() && target::IsWritable(memory)) return m;
  }
  return -1;
}

// The same with a depthwise convolution as dense blocks; nothing if it is none,
// or their weights have no room.
absl::StatusOr<std::optional<Placement>> DenseBlocks(const Chip& chip,
                                                     const Region& region,
                                                     int32_t ram,
                                                     const Borders& borders) {
  const Op& op = region.graph->ops[region.ops[0]];
  if (!op.attributes.has_depthwise_conv2d()) return std::nullopt;
  absl::StatusOr<Placement> placement =
      PlaceOperands(chip, region, ram, borders, /*dense_blocks=*/true);
  if (absl::IsUnimplemented(placement.status())) return std::nullopt;
  EK_RETURN_IF_ERROR(placement.status());
  if (!DenseBlocksFit(chip, region)) return std::nullopt;
  return *std::move(placement);
}

absl::StatusOr<TileDecisions> ReadDecisions(
    const google::protobuf::Any& recipe) {
  TileDecisions decisions;
  if (!recipe.type_url().empty() && !recipe.UnpackTo(&decisions)) {
    return absl::InvalidArgumentError(
        "the recipe's decisions are another model's");
  }
  return decisions;
}

using SharedChip = std::shared_ptr<const Chip>;

class RegisterJobBackend final : public EngineBackend {
 public:
  RegisterJobBackend() = default;
  // For OnMachine().
  explicit RegisterJobBackend(const v1::Machine& machine)
      : machine_(&machine) {}

  std::unique_ptr<const EngineBackend> OnMachine(
      const v1::Machine& machine) const override {
    return std::make_unique<RegisterJobBackend>(machine);
  }

  bool HostDriven() const override { return true; }

  absl::StatusOr<v1::Layout> OperandLayout(const Region& region,
                                           TensorId tensor,
                                           const v1::Machine& machine,
                                           int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    EK_ASSIGN_OR_RETURN(const Placement placement,
                        PlaceOperands(chip, region, 0, {}));
    return LayoutOfTensor(region, placement, region.storage[tensor]);
  }

  absl::Status CheckBorder(const Region& region, const Budget::Border& border,
                           const v1::Machine& machine,
                           int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    Borders borders;
    EK_ASSIGN_OR_RETURN(
        borders[border.tensor],
        ReadBorder(region, chip, border.tensor, border.memory, border.layout));
    EK_ASSIGN_OR_RETURN(const Placement placement,
                        PlaceOperands(chip, region, border.memory, borders));
    if (border.memory != chip.memory()) return absl::OkStatus();
    const auto own = LayoutOfTensor(region, placement, border.tensor);
    if (own.ok() && own->SerializeAsString() ==
                        borders[border.tensor].layout.SerializeAsString()) {
      return absl::OkStatus();
    }
    // Tiles of it are moved within the memory.
    return chip
        .MoveBetween(chip.memory(), border.layout, chip.memory(), border.layout)
        .status();
  }

  bool NeedsRearranging(const Region& region, const Budget::Border& border,
                        const v1::Machine& machine,
                        int32_t engine) const override {
    const auto shared = ChipOf(machine, engine);
    if (!shared.ok() || !(*shared)->rearranges()) return false;
    const Chip& chip = **shared;
    const auto own = OperandLayout(region, border.tensor, machine, engine);
    if (!own.ok()) return false;
    const auto move =
        chip.MoveBetween(border.memory, border.layout, chip.memory(), *own);
    return move.ok() && move->rearranges;
  }

  std::vector<TensorId> OverwritableInputs(const Region& region,
                                           const v1::Machine&,
                                           int32_t) const override {
    const auto operation = OperationOf(*region.graph, region.ops[0]);
    if (!operation.ok() || !operation->element_by_element()) return {};
    return {region.storage[operation->input],
            region.storage[operation->input2]};
  }

  absl::Status CheckSmallest(const Graph& graph,
                             const std::vector<int32_t>& ops,
                             const v1::Machine& machine,
                             int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    const v1::ResolvedMemory& memory = machine.memories(chip.memory());
    const std::vector<TensorId> storage = StorageOf(graph);
    int64_t most = 0;
    int32_t largest = -1;
    for (const int32_t op : ops) {
      const auto placement = PlaceOperands(chip, RegionOfOp(graph, storage, op),
                                           RamOf(machine), {});
      // Scales before calibration may be inconsistent.
      if (!placement.ok()) continue;
      // The smallest of all tiles, since layouts grow with extents.
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
    return MemoryTooSmall(graph, largest, memory, memory.capacity_bytes(), most,
                          /*at_least=*/true);
  }

  absl::StatusOr<MemoryNeed> NeedOfEachAlone(
      const Graph& graph, const std::vector<int32_t>& ops,
      const v1::Machine& machine, int32_t engine,
      const google::protobuf::Any& recipe) const override {
    EK_ASSIGN_OR_RETURN(const TileDecisions decisions, ReadDecisions(recipe));
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    const std::vector<TensorId> storage = StorageOf(graph);
    MemoryNeed most;
    most.memory = chip.memory();
    int32_t largest = -1;
    for (const int32_t op : ops) {
      EK_ASSIGN_OR_RETURN(Placement placement,
                          PlaceOperands(chip, RegionOfOp(graph, storage, op),
                                        RamOf(machine), {}));
      PadChannels(graph, decisions.input_channels_multiple(), placement);
      const auto bytes = SmallestBytes(placement, decisions);
      // Not for lack of memory.
      if (absl::IsOutOfRange(bytes.status())) continue;
      EK_RETURN_IF_ERROR(bytes.status());
      if (*bytes <= most.bytes) continue;
      most.bytes = *bytes;
      largest = op;
    }
    const v1::ResolvedMemory& memory = machine.memories(chip.memory());
    if (most.bytes > memory.capacity_bytes()) {
      most.refusal =
          MemoryTooSmall(graph, largest, memory, memory.capacity_bytes(),
                         most.bytes, /*at_least=*/false);
    }
    return most;
  }

  int64_t ConstantBytesBesideWeights(const Graph& graph, const Op& op,
                                     const v1::Machine& machine,
                                     int32_t engine) const override {
    bool tables = true;
    for (const auto& job : machine.engines(engine).jobs().jobs()) {
      tables = tables && job.results() == v1::RegisterJobs::BY_TABLE;
    }
    return graph.tensors[op.outputs[0]].shape.back() *
           (tables ? target::kJobTableEntryBytes : target::kJobChannelBytes);
  }

  // Cells have two bits for each.
  int64_t LeastWeightBytes(int64_t bytes, const v1::Machine& machine,
                           int32_t engine) const override {
    for (const auto& job : machine.engines(engine).jobs().jobs()) {
      for (const auto& operand : job.operands()) {
        if (operand.has_cell_rows()) return CeilDiv(bytes, 4);
      }
    }
    return bytes;
  }

  absl::StatusOr<int64_t> EstimateCycles(const Region& region,
                                         const v1::Machine& machine,
                                         int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    const int32_t ram = RamOf(machine);
    const int64_t capacity = machine.memories(chip.memory()).capacity_bytes();
    EK_ASSIGN_OR_RETURN(const Placement in_ram,
                        PlaceOperands(chip, region, ram, {}));
    Borders residents;
    for (const Operand* operand :
         {&in_ram.input, &in_ram.input2, &in_ram.output}) {
      if (!operand->present()) continue;
      auto layout = LayoutOfTensor(region, in_ram, operand->tensor);
      if (!layout.ok()) continue;
      residents[operand->tensor] = {chip.memory(), *std::move(layout)};
    }
    EK_ASSIGN_OR_RETURN(const Placement resident,
                        PlaceOperands(chip, region, ram, residents));
    ChoiceMemo own;
    ChoiceMemo& memo = MemoOf(machine, own);
    const auto cycles = EstimateRegion(*region.graph, resident, capacity, memo);
    if (absl::IsResourceExhausted(cycles.status())) {
      return EstimateRegion(*region.graph, in_ram, capacity, memo);
    }
    EK_RETURN_IF_ERROR(cycles.status());
    EK_ASSIGN_OR_RETURN(const std::optional<Placement> blocks,
                        DenseBlocks(chip, region, ram, residents));
    if (!blocks) return cycles;
    const auto other = EstimateRegion(*region.graph, *blocks, capacity, memo);
    return other.ok() ? std::min(*cycles, *other) : cycles;
  }

  absl::StatusOr<v1::RegionPlan> Plan(
      const Region& region, const Budget& budget, const v1::Machine& machine,
      int32_t engine, const google::protobuf::Any& recipe) const override {
    EK_ASSIGN_OR_RETURN(const TileDecisions decisions, ReadDecisions(recipe));
    if (std::ssize(budget.memory_bytes) != machine.memories_size()) {
      return absl::InvalidArgumentError(
          "the budget is not for this machine's memories");
    }
    EK_ASSIGN_OR_RETURN(const SharedChip shared, ChipOf(machine, engine));
    const Chip& chip = *shared;
    EK_ASSIGN_OR_RETURN(const Borders borders, BordersOf(region, budget, chip));
    EK_ASSIGN_OR_RETURN(Placement placement,
                        PlaceOperands(chip, region, RamOf(machine), borders));
    placement.by_row = decisions.additions_by_row() &&
                       placement.operation.kernel == v1::RegisterJobs::ADDITION;
    PadChannels(*region.graph, decisions.input_channels_multiple(), placement);
    const int64_t bytes =
        std::min(budget.memory_bytes[chip.memory()],
                 machine.memories(chip.memory()).capacity_bytes());
    ChoiceMemo own;
    ChoiceMemo& memo = MemoOf(machine, own);
    EK_ASSIGN_OR_RETURN(
        v1::RegionPlan plan,
        PlanRegion(*region.graph, placement, bytes, decisions, memo));
    if (!decisions.no_dense_blocks()) {
      EK_ASSIGN_OR_RETURN(const std::optional<Placement> blocks,
                          DenseBlocks(chip, region, RamOf(machine), borders));
      if (blocks) {
        auto other = PlanRegion(*region.graph, *blocks, bytes, decisions, memo);
        if (other.ok() && other->predicted_cycles() < plan.predicted_cycles()) {
          plan = *std::move(other);
        }
      }
    }
    plan.set_engine(engine);
    for (const Budget::Border& border : budget.borders) {
      v1::RegionPlan::Border& written = *plan.add_borders();
      written.set_tensor(border.tensor);
      written.set_memory(border.memory);
      *written.mutable_layout() = border.layout;
    }
    return plan;
  }

  absl::StatusOr<RegionCode> Emit(const Region& region,
                                  const v1::RegionPlan& plan,
                                  const v1::Machine& machine,
                                  const RegionMemory& memory) const override {
    EK_ASSIGN_OR_RETURN(const SharedChip shared,
                        ChipOf(machine, plan.engine()));
    const Chip& chip = *shared;
    Borders borders;
    for (const v1::RegionPlan::Border& border : plan.borders()) {
      EK_ASSIGN_OR_RETURN(borders[border.tensor()],
                          ReadBorder(region, chip, border.tensor(),
                                     border.memory(), border.layout()));
    }
    EK_ASSIGN_OR_RETURN(const Form form, FormOf(plan));
    EK_ASSIGN_OR_RETURN(
        Placement placement,
        PlaceOperands(chip, region, memory.ram, borders, form.dense_blocks));
    placement.by_row = form.by_row;
    PadChannels(*region.graph, form.input_channels_multiple, placement);
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

  absl::StatusOr<std::vector<ModelFile>> FunctionalModel(
      const v1::Machine& machine, int32_t engine) const override {
    return ModelInC(machine, engine);
  }

 private:
  absl::StatusOr<SharedChip> ChipOf(const v1::Machine& machine,
                                    int32_t engine) const {
    const auto create = [&]() -> absl::StatusOr<SharedChip> {
      EK_ASSIGN_OR_RETURN(Chip chip, Chip::Create(machine, engine));
      return std::make_shared<const Chip>(std::move(chip));
    };
    if (machine_ != &machine) return create();
    SharedChip& known = chips_[engine];
    if (known == nullptr) {
      EK_ASSIGN_OR_RETURN(known, create());
    }
    return known;
  }

  ChoiceMemo& MemoOf(const v1::Machine& machine, ChoiceMemo& own) const {
    return machine_ == &machine ? choices_ : own;
  }

  const v1::Machine* const machine_ = nullptr;  // Null: none in particular.
  mutable absl::flat_hash_map<int32_t, SharedChip> chips_;  // By engine.
  mutable ChoiceMemo choices_;
};

}  // namespace

const EngineBackend& Backend() {
  static const RegisterJobBackend* const backend = new RegisterJobBackend;
  return *backend;
}

}  // namespace edgekiln::compiler::register_job
