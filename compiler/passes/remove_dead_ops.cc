#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

class RemoveDeadOps : public Pass {
 public:
  absl::string_view name() const override { return "remove-dead-ops"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    std::vector<bool> live(graph.tensors.size(), false);
    for (const TensorId output : graph.outputs) live[output] = true;
    std::vector<Op> kept;
    // Ops are in topological order, so one backward sweep reaches every input.
    for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
      if (std::none_of(op->outputs.begin(), op->outputs.end(),
                       [&live](TensorId id) { return live[id]; })) {
        continue;
      }
      for (const TensorId input : op->inputs) {
        if (input != kNoTensor) live[input] = true;
      }
      kept.push_back(std::move(*op));
    }
    const bool dropped = kept.size() < graph.ops.size();
    std::reverse(kept.begin(), kept.end());
    graph.ops = std::move(kept);
    const bool unused = RemoveUnusedTensors(graph);
    return dropped || unused ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewRemoveDeadOpsPass() {
  return std::make_unique<RemoveDeadOps>();
}

}  // namespace edgekiln::compiler
