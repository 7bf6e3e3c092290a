#include "compiler/ir/tensor_views.h"

namespace edgekiln::compiler {

ops::QuantizationView QuantizationOf(const Tensor& tensor) {
  if (!tensor.quantization.has_value()) return {};
  return {tensor.quantization->scale, tensor.quantization->zero_point,
          tensor.quantization->axis};
}

ops::TensorView ViewOf(const Tensor& tensor) {
  return {tensor.type, tensor.shape,
          tensor.is_constant() ? tensor.data->data() : nullptr,
          QuantizationOf(tensor)};
}

std::vector<ops::TensorView> ViewsOf(const Graph& graph,
                                     const std::vector<TensorId>& ids) {
  std::vector<ops::TensorView> views;
  views.reserve(ids.size());
  for (const TensorId id : ids) {
    views.push_back(id == kNoTensor ? ops::TensorView{}
                                    : ViewOf(graph.tensors[id]));
  }
  return views;
}

}  // namespace edgekiln::compiler
