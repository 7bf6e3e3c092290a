#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_cost.h"
#include "compiler/passes/pass.h"
#include "ops/evaluate.h"

namespace edgekiln::compiler {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

// The graph while its ops become constants. Values that nothing reads any more
// go at once, so that a chain takes the memory of two of its links.
class Folding {
 public:
  Folding(const PassContext& context, Graph& graph)
      : context_(context),
        graph_(graph),
        is_output_(graph.tensors.size(), false),
        readers_(graph.tensors.size(), 0),
        bytes_(ConstantBytes(graph)),
        work_(context.max_folding_work) {
    for (const TensorId id : graph.outputs) is_output_[id] = true;
    for (const Op& op : graph.ops) {
      for (const TensorId id : op.inputs) {
        if (id != kNoTensor) ++readers_[id];
      }
    }
  }

  // Whether all that the op makes can be known now, at a reasonable cost; if
  // so, the cost is paid.
  bool Wants(const Op& op) {
    if (op.attributes.has_dequantize() && context_.keep_dequantized) {
      return false;
    }
    int64_t read = 0;
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor) continue;
      if (!graph_.tensors[id].is_constant()) return false;
      read += graph_.tensors[id].num_elements();
    }
    int64_t bytes = bytes_;
    int64_t written = 0;
    for (const TensorId id : op.outputs) {
      if (id == kNoTensor || is_output_[id]) return false;
      bytes += BytesOf(graph_.tensors[id]);
      written += graph_.tensors[id].num_elements();
      if (bytes > context_.max_constant_bytes) return false;
    }
    // No op reads every input more than once for each output.
    const bool linear = WorkIsLinear(op.attributes);
    if (!linear && written > work_ / (read + 1)) return false;
    const int64_t work = linear ? read + written : (read + 1) * written;
    if (work > work_) return false;
    work_ -= work;
    return true;
  }

  absl::Status Fold(const Op& op) {
    std::vector<std::string> data;
    for (const TensorId id : op.outputs) {
      data.emplace_back(static_cast<size_t>(BytesOf(graph_.tensors[id])), '\0');
    }
    std::vector<ops::MutableTensorView> results;
    for (size_t i = 0; i < data.size(); ++i) {
      const ops::TensorView type = ViewOf(graph_.tensors[op.outputs[i]]);
      results.push_back(
          {type.type, type.shape, data[i].data(), type.quantization});
    }
    EK_RETURN_IF_ERROR(
        ops::Evaluate(op.attributes, ViewsOf(graph_, op.inputs), results));
    for (size_t i = 0; i < data.size(); ++i) {
      bytes_ += static_cast<int64_t>(data[i].size());
      graph_.tensors[op.outputs[i]].data = ConstantData(std::move(data[i]));
    }
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor && --readers_[id] == 0 && !is_output_[id]) Drop(id);
    }
    return absl::OkStatus();
  }

 private:
  void Drop(TensorId id) {
    ConstantData& data = graph_.tensors[id].data;
    if (data.is_sole()) bytes_ -= static_cast<int64_t>(data->size());
    data = {};
  }

  const PassContext& context_;
  Graph& graph_;
  std::vector<bool> is_output_;
  std::vector<int> readers_;
  int64_t bytes_;
  int64_t work_;
};

class FoldConstants : public Pass {
 public:
  absl::string_view name() const override { return "fold-constants"; }

  absl::StatusOr<Changed> Run(const PassContext& context,
                              Graph& graph) const override {
    Folding folding(context, graph);
    std::vector<Op> kept;
    // In topological order a folded result is a constant for what follows.
    for (Op& op : graph.ops) {
      if (!folding.Wants(op)) {
        kept.push_back(std::move(op));
        continue;
      }
      EK_RETURN_IF_ERROR(folding.Fold(op), absl::StrCat("op ", op.id));
    }
    const bool folded = kept.size() < graph.ops.size();
    graph.ops = std::move(kept);
    if (folded) RemoveUnusedTensors(graph);
    return folded ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewFoldConstantsPass() {
  return std::make_unique<FoldConstants>();
}

}  // namespace edgekiln::compiler
