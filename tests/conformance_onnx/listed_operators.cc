#include "tests/conformance_onnx/listed_operators.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace edgekiln::tests {
namespace {

constexpr absl::string_view kListed =
    "Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip "
    "Concat Constant ConstantOfShape Conv ConvInteger ConvTranspose CumSum "
    "DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum "
    "Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements Gelu Gemm "
    "GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GRU HardSigmoid "
    "HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu "
    "Less LessOrEqual Log LogSoftmax LRN LSTM MatMul MatMulInteger Max MaxPool "
    "Mean Min Mul Neg Not Or Pad Pow PRelu QLinearConv QLinearMatMul "
    "QuantizeLinear Reciprocal ReduceL2 ReduceMax ReduceMean ReduceMin "
    "ReduceSum Relu Reshape Resize Round Selu Shape Sigmoid Sign Size Slice "
    "Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh "
    "Tile TopK Transpose Unsqueeze Upsample Where Xor";

bool IsListed(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  for (const absl::string_view name : absl::StrSplit(kListed, ' ')) {
    if (name == node.op_type()) return true;
  }
  return false;
}

bool AllListed(const onnx::GraphProto& graph) {
  return std::all_of(
      graph.node().begin(), graph.node().end(),
      [](const onnx::NodeProto& node) {
        return IsListed(node) &&
               std::all_of(node.attribute().begin(), node.attribute().end(),
                           [](const onnx::AttributeProto& attribute) {
                             return !attribute.has_g() ||
                                    AllListed(attribute.g());
                           });
      });
}

}  // namespace

bool UsesListedOperatorsOnly(const onnx::ModelProto& model) {
  return AllListed(model.graph());
}

}  // namespace edgekiln::tests
