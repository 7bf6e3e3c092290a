#include "testing/tiny_vector/compiler/layer.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::compiler::tiny_vector {
namespace {

absl::Status SetAdd(const Graph& graph, const Op& op, Layer& layer) {
  const Tensor& output = graph.tensors[layer.output];
  layer.kind = Layer::Kind::kAdd;
  layer.input2 = op.inputs[1];
  layer.channels = output.num_elements();
  EK_ASSIGN_OR_RETURN(
      layer.add,
      ops::AddParameters(op.attributes.add().clamp(), op.attributes.rounding(),
                         QuantizationOf(graph.tensors[layer.input]),
                         QuantizationOf(graph.tensors[layer.input2]),
                         QuantizationOf(output), output.type));
  if (layer.add.left_shift != target::tiny_vector::kLeftShift) {
    return absl::InternalError("an addition of another type than int8");
  }
  return absl::OkStatus();
}

void SetMaxPool(const Graph& graph, const Op& op, Layer& layer) {
  const v1::MaxPool2d& pool = op.attributes.max_pool2d();
  const Tensor& input = graph.tensors[layer.input];
  const Tensor& output = graph.tensors[layer.output];
  layer.kind = Layer::Kind::kMaxPool;
  layer.in_h = input.shape[1];
  layer.in_w = input.shape[2];
  layer.out_h = output.shape[1];
  layer.out_w = output.shape[2];
  layer.channels = output.shape[3];
  layer.kernel_h = pool.kernel_h();
  layer.kernel_w = pool.kernel_w();
  layer.window = pool.window();
  layer.clamp = ops::ClampRange(pool.clamp(), op.attributes.rounding(),
                                QuantizationOf(output), output.type);
}

}  // namespace

absl::StatusOr<Layer> LayerOf(const Graph& graph, int32_t op_index) {
  const Op& op = graph.ops[op_index];
  Layer layer;
  layer.op = op_index;
  layer.input = op.inputs[0];
  layer.output = op.outputs[0];
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kAdd:
      EK_RETURN_IF_ERROR(SetAdd(graph, op, layer), absl::StrCat("op ", op.id));
      return layer;
    case v1::OpAttributes::kMaxPool2D:
      SetMaxPool(graph, op, layer);
      return layer;
    case v1::OpAttributes::kReshape:
      return layer;
    default:
      return absl::InternalError(absl::StrCat(
          "op ", op.id, " (", op.kind(), ") has no command of the engine"));
  }
}

absl::StatusOr<std::vector<Layer>> LayersOf(const Region& region) {
  std::vector<Layer> layers;
  for (const int32_t op : region.ops) {
    EK_ASSIGN_OR_RETURN(Layer layer, LayerOf(*region.graph, op));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace edgekiln::compiler::tiny_vector
