#include "compiler/engines/dla/backend.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/disassembler.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/subgraph.h"
#include "target/isa_view.h"

namespace edgekiln::compiler::dla {
namespace {

class DlaBackend final : public EngineBackend {
 public:
  absl::Status CheckSmallest(const Graph& graph,
                             const std::vector<int32_t>& ops,
                             int64_t scratchpad_bytes) const override {
    std::vector<Layer> layers;
    for (const int32_t op : ops) {
      const auto layer = LayerOf(graph, op);
      // Made-up scales may not go together.
      if (layer.ok()) layers.push_back(*layer);
    }
    return CheckSmallestSram(graph, layers, scratchpad_bytes);
  }

  int64_t BytesBesideWeights(const Graph& graph, const Op& op) const override {
    return graph.tensors[op.outputs[0]].shape.back() * kTableEntryBytes;
  }

  absl::StatusOr<v1::TilingPlan::Subgraph> Plan(
      const Region& region, const v1::Machine& machine, int32_t engine,
      const google::protobuf::Any& decisions) const override {
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, engine));
    EK_ASSIGN_OR_RETURN(const SubgraphInput input, InputOfRegion(region));
    return TileSubgraph(chip, input, decisions);
  }

  absl::StatusOr<RegionCode> Emit(const Region& region,
                                  const v1::TilingPlan::Subgraph& plan,
                                  const v1::Machine& machine,
                                  const RegionMemory& memory) const override {
    EK_ASSIGN_OR_RETURN(const SubgraphInput input, InputOfRegion(region));
    EK_ASSIGN_OR_RETURN(const SubgraphPlan decided, PlanFromProto(input, plan));
    EK_ASSIGN_OR_RETURN(const Chip chip, Chip::Create(machine, plan.engine()));
    return EmitSubgraph(chip, input, decided,
                        {.tensors = memory.tensors,
                         .ram = memory.ram,
                         .blocks = memory.constants});
  }

  absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine,
      absl::string_view code) const override {
    EK_ASSIGN_OR_RETURN(const target::IsaView isa,
                        target::IsaView::Create(engine.isa()));
    return dla::Disassemble(isa, code);
  }
};

}  // namespace

const EngineBackend& Backend() {
  static const DlaBackend* const backend = new DlaBackend;
  return *backend;
}

}  // namespace edgekiln::compiler::dla
