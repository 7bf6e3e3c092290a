#include "compiler/passes/op_cost.h"

#include <set>

namespace edgekiln::compiler {

bool WorkIsLinear(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kTransposedConv:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kMatMul:
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kMaxPool2D:
    case v1::OpAttributes::kPool:
    case v1::OpAttributes::kResize:
    case v1::OpAttributes::kLocalResponseNormalization:
    case v1::OpAttributes::kLstm:
    case v1::OpAttributes::kGru:
    case v1::OpAttributes::kSvdf:
      return false;
    default:
      return true;
  }
}

int64_t ConstantBytes(const Graph& graph) {
  std::set<const char*> values;
  int64_t bytes = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant() && values.insert(tensor.data->data()).second) {
      bytes += static_cast<int64_t>(tensor.data->size());
    }
  }
  return bytes;
}

}  // namespace edgekiln::compiler
