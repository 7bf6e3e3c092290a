#include "testing/tiny_vector/compiler/backend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/engines/tiny_vector.pb.h"
#include "target/layout.h"
#include "testing/tiny_vector/compiler/code_writer.h"
#include "testing/tiny_vector/compiler/emit.h"
#include "testing/tiny_vector/compiler/layer.h"
#include "testing/tiny_vector/compiler/text.h"
#include "testing/tiny_vector/compiler/tiles.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::compiler::tiny_vector {
namespace {

using target::tiny_vector::Banks;
using target::tiny_vector::BanksOf;

// A layer takes one vector of each bank at least.
absl::Status CheckBanks(const Graph& graph, const std::vector<int32_t>& ops,
                        const v1::Machine& machine, const Banks& banks,
                        const std::vector<int64_t>& memory_bytes) {
  const auto needy = std::find_if(ops.begin(), ops.end(), [&](int32_t op) {
    return !graph.ops[op].attributes.has_reshape();
  });
  if (needy == ops.end()) return absl::OkStatus();
  for (const int32_t bank : {banks.a, banks.b}) {
    if (memory_bytes[bank] >= banks.lanes) continue;
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.reason = "SRAM_TOO_SMALL",
         .what = "the engine's memory does not hold a vector",
         .where = absl::StrCat("layer ", graph.ops[*needy].id, ", memory ",
                               machine.memories(bank).name()),
         .limit = absl::StrCat(memory_bytes[bank], " bytes"),
         .need = absl::StrCat(banks.lanes, " bytes"),
         .fix = "use a target with more of this memory"});
  }
  return absl::OkStatus();
}

absl::Status CheckDense(const Region& region, const Budget::Border& border,
                        const v1::Machine& machine) {
  const Graph& graph = *region.graph;
  if (border.tensor < 0 || border.tensor >= std::ssize(graph.tensors) ||
      border.memory < 0 || border.memory >= machine.memories_size()) {
    return absl::InvalidArgumentError("the budget is for another graph");
  }
  const Tensor& tensor = graph.tensors[border.tensor];
  const v1::ResolvedMemory& memory = machine.memories(border.memory);
  const v1::Layout dense =
      target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
  if (!border.resident && memory.host_reaches() &&
      border.layout.SerializeAsString() == dense.SerializeAsString()) {
    return absl::OkStatus();
  }
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "BORDER_UNSUPPORTED",
       .what = "the engine moves dense tensors of system memory only",
       .where =
           absl::StrCat("tensor ", tensor.name, " in memory ", memory.name()),
       .need = "a dense tensor that is not resident",
       .fix = "move it before or after the region"});
}

std::vector<int64_t> Capacities(const v1::Machine& machine) {
  std::vector<int64_t> bytes;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    bytes.push_back(memory.capacity_bytes());
  }
  return bytes;
}

// Tiles for banks of that size, and what their commands take.
absl::StatusOr<v1::RegionPlan> PlanLayers(
    const Region& region, const v1::Machine& machine, int32_t engine,
    const std::vector<int64_t>& memory_bytes) {
  const Banks banks = BanksOf(machine, engine);
  EK_RETURN_IF_ERROR(
      CheckBanks(*region.graph, region.ops, machine, banks, memory_bytes));
  const int64_t vectors =
      std::min(memory_bytes[banks.a], memory_bytes[banks.b]) / banks.lanes;
  EK_ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOf(region));
  EK_ASSIGN_OR_RETURN(CodeWriter code, CodeWriter::Create(machine, engine));
  v1::tiny_vector::RegionDecisions decisions;
  int64_t used = 0;
  for (const Layer& layer : layers) {
    if (layer.kind == Layer::Kind::kAlias) continue;
    const Tile tile = LargestTile(layer, vectors, banks.lanes);
    used = std::max(used, VectorsOf(tile, banks.lanes) * banks.lanes);
    v1::tiny_vector::RegionDecisions::Layer* const decided =
        decisions.add_layers();
    decided->set_op(layer.op);
    decided->set_pixels(tile.pixels);
    decided->set_channels(tile.channels);
    int32_t tiles = 0;
    EK_RETURN_IF_ERROR(
        WriteLayer(layer, tile, banks.lanes, Addresses(), code, tiles),
        absl::StrCat("layer ", region.graph->ops[layer.op].id));
  }
  EK_RETURN_IF_ERROR(code.Run(target::tiny_vector::Command::kEnd));
  v1::RegionPlan plan;
  plan.set_engine(engine);
  plan.mutable_decisions()->PackFrom(decisions);
  for (const int32_t bank : {banks.a, banks.b}) {
    v1::RegionPlan::MemoryNeed* const need = plan.add_needs();
    need->set_memory(bank);
    need->set_bytes(used);
  }
  plan.set_predicted_cycles(code.cycles());
  return plan;
}

class TinyVectorBackend final : public EngineBackend {
 public:
  absl::Status CheckSmallest(const Graph& graph,
                             const std::vector<int32_t>& ops,
                             const v1::Machine& machine,
                             int32_t engine) const override {
    return CheckBanks(graph, ops, machine, BanksOf(machine, engine),
                      Capacities(machine));
  }

  int64_t ConstantBytesBesideWeights(const Graph& /*graph*/, const Op& /*op*/,
                                     const v1::Machine& /*machine*/,
                                     int32_t /*engine*/) const override {
    return 0;
  }

  // Planning is quick enough to be the estimate.
  absl::StatusOr<int64_t> EstimateCycles(const Region& region,
                                         const v1::Machine& machine,
                                         int32_t engine) const override {
    EK_ASSIGN_OR_RETURN(
        const v1::RegionPlan plan,
        PlanLayers(region, machine, engine, Capacities(machine)));
    return plan.predicted_cycles();
  }

  absl::Status CheckBorder(const Region& region, const Budget::Border& border,
                           const v1::Machine& machine,
                           int32_t /*engine*/) const override {
    return CheckDense(region, border, machine);
  }

  absl::StatusOr<v1::RegionPlan> Plan(
      const Region& region, const Budget& budget, const v1::Machine& machine,
      int32_t engine, const google::protobuf::Any& recipe) const override {
    if (!recipe.type_url().empty()) {
      return absl::InvalidArgumentError("the engine model has no recipes");
    }
    if (std::ssize(budget.memory_bytes) != machine.memories_size()) {
      return absl::InvalidArgumentError(
          "the budget is not for this machine's memories");
    }
    for (const Budget::Border& border : budget.borders) {
      EK_RETURN_IF_ERROR(CheckDense(region, border, machine));
    }
    return PlanLayers(region, machine, engine, budget.memory_bytes);
  }

  absl::StatusOr<RegionCode> Emit(const Region& region,
                                  const v1::RegionPlan& plan,
                                  const v1::Machine& machine,
                                  const RegionMemory& memory) const override {
    return EmitRegion(region, plan, machine, memory);
  }

  absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine,
      absl::string_view code) const override {
    EK_ASSIGN_OR_RETURN(const target::IsaView isa,
                        target::IsaView::Create(engine.isa()));
    return tiny_vector::Disassemble(isa, code);
  }

  absl::StatusOr<std::string> Assemble(const v1::Machine::Engine& engine,
                                       absl::string_view text) const override {
    EK_ASSIGN_OR_RETURN(const target::IsaView isa,
                        target::IsaView::Create(engine.isa()));
    return tiny_vector::Assemble(isa, text);
  }
};

}  // namespace

const EngineBackend& Backend() {
  static const TinyVectorBackend* const backend = new TinyVectorBackend;
  return *backend;
}

}  // namespace edgekiln::compiler::tiny_vector
