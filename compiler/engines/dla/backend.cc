#include "compiler/engines/dla/backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/disassembler.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/model_in_c.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/stored_plan.h"
#include "compiler/engines/dla/subgraph.h"
#include "target/isa_view.h"
#include "target/layout.h"
#include "target/memories.h"

namespace edgekiln::compiler::dla {
namespace {

// The DLA reads and writes dense tensors by DMA, and its SRAM is undefined when
// a stream starts.
absl::Status CheckDense(const Region& region, const Budget::Border& border,
                        const v1::Machine& machine) {
  const Graph& graph = *region.graph;
  if (border.tensor < 0 || border.tensor >= std::ssize(graph.tensors) ||
      border.memory < 0 || border.memory >= machine.memories_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the budget has a border of tensor ", border.tensor, " in memory ",
        border.memory, ": there are ", graph.tensors.size(), " tensors and ",
        machine.memories_size(), " memories"));
  }
  const Tensor& tensor = graph.tensors[border.tensor];
  const v1::ResolvedMemory& memory = machine.memories(border.memory);
  const auto refuse = [&](std::string what, std::string need) {
    return MakeError(
        absl::StatusCode::kUnimplemented,
        {.reason = "BORDER_UNSUPPORTED",
         .what = std::move(what),
         .where =
             absl::StrCat("tensor ", tensor.name, " in memory ", memory.name()),
         .need = std::move(need),
         .fix = "plan with the tensor dense in system memory, and move it "
                "before or after the region"});
  };
  if (border.resident) {
    return refuse("the engine's SRAM holds nothing when a stream starts",
                  "a tensor that is not resident");
  }
  if (!memory.host_reaches()) {
    return refuse("the engine reads and writes its borders by DMA",
                  "a memory that the DMA reaches");
  }
  const v1::Layout dense =
      target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
  if (border.layout.SerializeAsString() != dense.SerializeAsString()) {
    return refuse("the engine's DMA moves dense tensors only",
                  "a dense layout");
  }
  return absl::OkStatus();
}

class DlaBackend final : public EngineBackend {
 public:
  bool ComputesInPieces() const override { return true; }

  absl::Status CheckSmallest(const Graph& graph,
                             const std::vector<int32_t>& ops,
                             const v1::Machine& machine,
                             int32_t engine) const override {
    const int32_t scratchpad = target::PrivateMemoryOf(machine, engine);
    EK_ASSIGN_OR_RETURN(
        const Chip chip,
        Chip::Borrow(machine, engine,
                     machine.memories(scratchpad).capacity_bytes()));
    std::vector<Layer> layers;
    for (const int32_t op : ops) {
      // Made-up scales may not go together.
      if (const auto layer = LayerOf(graph, op); layer.ok()) {
        layers.push_back(*layer);
      }
    }
    return CheckSmallestSram(chip, graph, layers);
  }

  int64_t ConstantBytesBesideWeights(const Graph& graph, const Op& op,
                                     const v1::Machine& /*machine*/,
                                     int32_t /*engine*/) const override {
    return graph.tensors[op.outputs[0]].shape.back() * kTableEntryBytes;
  }

  absl::StatusOr<int64_t> EstimateCycles(const Region& region,
                                         const v1::Machine& machine,
                                         int32_t engine) const override {
    const int32_t scratchpad = target::PrivateMemoryOf(machine, engine);
    EK_ASSIGN_OR_RETURN(
        const Chip chip,
        Chip::Borrow(machine, engine,
                     machine.memories(scratchpad).capacity_bytes()));
    EK_ASSIGN_OR_RETURN(const SubgraphInput input, InputOfRegion(chip, region));
    return EstimateSubgraph(chip, input);
  }

  absl::Status CheckBorder(const Region& region, const Budget::Border& border,
                           const v1::Machine& machine,
                           int32_t /*engine*/) const override {
    return CheckDense(region, border, machine);
  }

  absl::StatusOr<v1::RegionPlan> Plan(
      const Region& region, const Budget& budget, const v1::Machine& machine,
      int32_t engine, const google::protobuf::Any& recipe) const override {
    v1::dla::TileRecipe decided;
    if (!recipe.type_url().empty() && !recipe.UnpackTo(&decided)) {
      return absl::InvalidArgumentError("the recipe is another engine's");
    }
    if (std::ssize(budget.memory_bytes) != machine.memories_size()) {
      return absl::InvalidArgumentError(
          "the budget is not for this machine's memories");
    }
    for (const Budget::Border& border : budget.borders) {
      EK_RETURN_IF_ERROR(CheckDense(region, border, machine));
    }
    const int32_t scratchpad = target::PrivateMemoryOf(machine, engine);
    EK_ASSIGN_OR_RETURN(
        const Chip chip,
        Chip::Borrow(machine, engine, budget.memory_bytes[scratchpad]));
    EK_ASSIGN_OR_RETURN(const SubgraphInput input, InputOfRegion(chip, region));
    EK_ASSIGN_OR_RETURN(const TimedPlan timed,
                        PlanSubgraph(chip, input, decided));
    v1::RegionPlan plan = PlanToProto(chip, input, timed);
    plan.set_engine(engine);
    return plan;
  }

  absl::StatusOr<RegionCode> Emit(const Region& region,
                                  const v1::RegionPlan& plan,
                                  const v1::Machine& machine,
                                  const RegionMemory& memory) const override {
    v1::dla::RegionDecisions decisions;
    if (!plan.decisions().UnpackTo(&decisions) || decisions.sram_bytes() < 1) {
      return absl::InvalidArgumentError(
          "the region's plan is another engine's");
    }
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Borrow(machine, plan.engine(),
                                                      decisions.sram_bytes()));
    EK_ASSIGN_OR_RETURN(const SubgraphInput input, InputOfRegion(chip, region));
    EK_ASSIGN_OR_RETURN(const SubgraphPlan decided,
                        PlanFromProto(chip, input, plan, decisions));
    SystemMap system;
    system.tensors = *memory.tensors;
    system.ram = memory.ram;
    system.blocks = memory.constants;
    return EmitSubgraph(chip, input, decided, system);
  }

  absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine,
      absl::string_view code) const override {
    EK_ASSIGN_OR_RETURN(const target::IsaView isa,
                        target::IsaView::Create(engine.isa()));
    return dla::Disassemble(isa, code);
  }

  absl::StatusOr<std::string> Assemble(const v1::Machine::Engine& engine,
                                       absl::string_view text) const override {
    EK_ASSIGN_OR_RETURN(const target::IsaView isa,
                        target::IsaView::Create(engine.isa()));
    return dla::Assemble(isa, text);
  }

  absl::StatusOr<std::vector<ModelFile>> FunctionalModel(
      const v1::Machine& machine, int32_t engine) const override {
    return ModelInC(machine, engine);
  }
};

}  // namespace

const EngineBackend& Backend() {
  static const DlaBackend* const backend = new DlaBackend;
  return *backend;
}

}  // namespace edgekiln::compiler::dla
