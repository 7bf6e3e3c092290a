#include <memory>
#include <utility>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

bool IsMeanOverHeightAndWidth(const Graph& graph, const Op& op) {
  if (!op.attributes.has_reduce_mean()) return false;
  const Tensor& x = graph.tensors[op.inputs[0]];
  const v1::ReduceMean& mean = op.attributes.reduce_mean();
  constexpr int64_t kMaxWindow = 1 << 22;  // CheckOp's limit.
  return x.type == v1::FLOAT32 && x.shape.size() == 4 &&
         mean.axes_size() == 2 && mean.axes(0) == 1 && mean.axes(1) == 2 &&
         x.shape[1] * x.shape[2] <= kMaxWindow;
}

v1::OpAttributes GlobalAverage(const Tensor& x) {
  v1::OpAttributes attributes;
  v1::AveragePool2d* pool = attributes.mutable_average_pool2d();
  pool->set_kernel_h(static_cast<int32_t>(x.shape[1]));
  pool->set_kernel_w(static_cast<int32_t>(x.shape[2]));
  v1::Window2d* window = pool->mutable_window();
  window->set_stride_h(1);
  window->set_stride_w(1);
  window->set_dilation_h(1);
  window->set_dilation_w(1);
  return attributes;
}

// A mean over height and width -> an average pool of that size, which
// accelerators have. Float only: the two round differently in integers.
class ConvertReduceMean : public Pass {
 public:
  absl::string_view name() const override { return "convert-reduce-mean"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    FreshNames names(graph);
    std::vector<Op> ops;
    bool changed = false;
    for (Op& op : graph.ops) {
      ops.push_back(std::move(op));
      Op& mean = ops.back();
      if (!IsMeanOverHeightAndWidth(graph, mean)) continue;
      changed = true;
      const bool keep_dims = mean.attributes.reduce_mean().keep_dims();
      const Tensor& x = graph.tensors[mean.inputs[0]];
      mean.attributes = GlobalAverage(x);
      if (keep_dims) continue;
      Tensor pooled = x;
      pooled.shape = {x.shape[0], 1, 1, x.shape[3]};
      pooled.name =
          names.TensorName(graph.tensors[mean.outputs[0]].name + ".pooled");
      Op reshape;
      reshape.id = names.OpId(mean.id + ".reshape");
      reshape.name = mean.name;
      reshape.attributes = ReshapeAttributes();
      reshape.inputs = {static_cast<TensorId>(graph.tensors.size())};
      reshape.outputs = mean.outputs;
      mean.outputs = reshape.inputs;
      graph.tensors.push_back(std::move(pooled));
      ops.push_back(std::move(reshape));
    }
    graph.ops = std::move(ops);
    return changed ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewConvertReduceMeanPass() {
  return std::make_unique<ConvertReduceMean>();
}

}  // namespace edgekiln::compiler
