#ifndef EK_COMPILER_IR_TENSOR_VIEWS_H_
#define EK_COMPILER_IR_TENSOR_VIEWS_H_

#include <vector>

#include "compiler/ir/graph.h"
#include "ops/tensor_view.h"

// From IR tensors to what ops/ takes. Views borrow from the graph.
namespace edgekiln::compiler {

// The quantization of a tensor, not present if it has none.
ops::QuantizationView QuantizationOf(const Tensor& tensor);

// Type, shape, quantization, and the data of a constant.
ops::TensorView ViewOf(const Tensor& tensor);

// One view per id; kNoTensor gives an absent view. Ids must be valid.
std::vector<ops::TensorView> ViewsOf(const Graph& graph,
                                     const std::vector<TensorId>& ids);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_TENSOR_VIEWS_H_
