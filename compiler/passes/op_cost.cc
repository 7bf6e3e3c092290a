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
    case v1::OpAttributes::kRnn:
    case v1::OpAttributes::kGridSample:
      return false;
    case v1::OpAttributes::OP_NOT_SET:
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kSoftmax:
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kTranspose:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kBatchNormalization:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kRequantize:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kReduceMean:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kBinary:
    case v1::OpAttributes::kSelect:
    case v1::OpAttributes::kCast:
    case v1::OpAttributes::kReduce:
    case v1::OpAttributes::kArgReduce:
    case v1::OpAttributes::kCumSum:
    case v1::OpAttributes::kGather:
    case v1::OpAttributes::kGatherElements:
    case v1::OpAttributes::kSlice:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kTile:
    case v1::OpAttributes::kTopK:
    case v1::OpAttributes::kLayerNormalization:
    case v1::OpAttributes::kL2Normalization:
    case v1::OpAttributes::kLogSoftmax:
    case v1::OpAttributes::kGatherNd:
    case v1::OpAttributes::kScatterElements:
    case v1::OpAttributes::kScatterNd:
    case v1::OpAttributes::kReverseSequence:
      return true;
  }
  return false;  // What is not known yet may be anything.
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
