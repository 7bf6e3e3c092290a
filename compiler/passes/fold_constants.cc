#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "ops/evaluate.h"

namespace edgekiln::compiler {
namespace {

// Whether the value of the op's only output can be known now.
bool IsFoldable(const PassContext& context, const Graph& graph, const Op& op,
                const std::vector<bool>& is_output) {
  const Tensor& output = graph.tensors[op.outputs[0]];
  return op.outputs.size() == 1 && !is_output[op.outputs[0]] &&
         output.num_elements() <=
             context.max_folded_constant_bytes / ElementBytes(output.type) &&
         std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
           return id == kNoTensor || graph.tensors[id].is_constant();
         });
}

absl::StatusOr<std::string> Compute(const Graph& graph, const Op& op) {
  const Tensor& output = graph.tensors[op.outputs[0]];
  std::string data(
      static_cast<size_t>(output.num_elements() * ElementBytes(output.type)),
      '\0');
  const ops::TensorView type = ViewOf(output);
  const ops::MutableTensorView result = {type.type, type.shape, data.data(),
                                         type.quantization};
  EK_RETURN_IF_ERROR(
      ops::Evaluate(op.attributes, ViewsOf(graph, op.inputs), {result}));
  return data;
}

class FoldConstants : public Pass {
 public:
  absl::string_view name() const override { return "fold-constants"; }

  absl::StatusOr<Changed> Run(const PassContext& context,
                              Graph& graph) const override {
    std::vector<bool> is_output(graph.tensors.size(), false);
    for (const TensorId id : graph.outputs) is_output[id] = true;
    std::vector<Op> kept;
    // In topological order a folded result is a constant for what follows.
    for (Op& op : graph.ops) {
      if (!IsFoldable(context, graph, op, is_output)) {
        kept.push_back(std::move(op));
        continue;
      }
      EK_ASSIGN_OR_RETURN(std::string data, Compute(graph, op),
                          absl::StrCat("op ", op.id));
      graph.tensors[op.outputs[0]].data =
          std::make_shared<const std::string>(std::move(data));
    }
    const bool folded = kept.size() < graph.ops.size();
    graph.ops = std::move(kept);
    return folded ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewFoldConstantsPass() {
  return std::make_unique<FoldConstants>();
}

}  // namespace edgekiln::compiler
