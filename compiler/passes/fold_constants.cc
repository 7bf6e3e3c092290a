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

// Whether all that the op makes can be known now.
bool IsFoldable(const PassContext& context, const Graph& graph, const Op& op,
                const std::vector<bool>& is_output) {
  if (op.attributes.has_dequantize() && context.keep_dequantized) return false;
  int64_t bytes = 0;
  for (const TensorId id : op.outputs) {
    if (id == kNoTensor || is_output[id]) return false;
    const Tensor& output = graph.tensors[id];
    bytes += output.num_elements() * ElementBytes(output.type);
    if (bytes > context.max_folded_constant_bytes) return false;
  }
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
    return id == kNoTensor || graph.tensors[id].is_constant();
  });
}

// Bytes of each output.
absl::StatusOr<std::vector<std::string>> Compute(const Graph& graph,
                                                 const Op& op) {
  std::vector<std::string> data;
  for (const TensorId id : op.outputs) {
    const Tensor& output = graph.tensors[id];
    data.emplace_back(
        static_cast<size_t>(output.num_elements() * ElementBytes(output.type)),
        '\0');
  }
  std::vector<ops::MutableTensorView> results;
  for (size_t i = 0; i < data.size(); ++i) {
    const ops::TensorView type = ViewOf(graph.tensors[op.outputs[i]]);
    results.push_back(
        {type.type, type.shape, data[i].data(), type.quantization});
  }
  EK_RETURN_IF_ERROR(
      ops::Evaluate(op.attributes, ViewsOf(graph, op.inputs), results));
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
      EK_ASSIGN_OR_RETURN(std::vector<std::string> data, Compute(graph, op),
                          absl::StrCat("op ", op.id));
      for (size_t i = 0; i < data.size(); ++i) {
        graph.tensors[op.outputs[i]].data =
            std::make_shared<const std::string>(std::move(data[i]));
      }
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
