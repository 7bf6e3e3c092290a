#include "ops/evaluate.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/kernels.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

absl::Status Dispatch(const v1::OpAttributes& op, Inputs inputs,
                      const MutableTensorView& output, CpuPath path) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return Conv2d(op.conv2d(), inputs, output, path);
    case v1::OpAttributes::kDepthwiseConv2D:
      return DepthwiseConv2d(op.depthwise_conv2d(), inputs, output);
    case v1::OpAttributes::kFullyConnected:
      return FullyConnected(op.fully_connected(), inputs, output, path);
    case v1::OpAttributes::kAdd:
      return Add(op.add(), inputs, output);
    case v1::OpAttributes::kAveragePool2D:
      return AveragePool2d(op.average_pool2d(), inputs[0], output);
    case v1::OpAttributes::kMaxPool2D:
      return MaxPool2d(op.max_pool2d(), inputs[0], output);
    case v1::OpAttributes::kSoftmax:
      return Softmax(op.softmax(), inputs[0], output);
    case v1::OpAttributes::kReshape:
      return Reshape(inputs[0], output);
    case v1::OpAttributes::kTranspose:
      return Transpose(op.transpose(), inputs[0], output);
    case v1::OpAttributes::kClip:
      return Clip(op.clip(), inputs[0], output);
    case v1::OpAttributes::kBatchNormalization:
      return BatchNormalization(op.batch_normalization(), inputs, output);
    case v1::OpAttributes::kPad:
      return Pad(op.pad(), inputs[0], output);
    case v1::OpAttributes::kQuantize:
      return Quantize(inputs[0], output);
    case v1::OpAttributes::kDequantize:
      return Dequantize(inputs[0], output);
    case v1::OpAttributes::kMul:
      return Mul(op.mul(), inputs, output);
    case v1::OpAttributes::kConcat:
      return Concat(op.concat(), inputs, output);
    case v1::OpAttributes::kReduceMean:
      return ReduceMean(op.reduce_mean(), inputs[0], output);
    case v1::OpAttributes::kMatMul:
      return MatMul(inputs, output, path);
    case v1::OpAttributes::OP_NOT_SET:
      break;
  }
  return absl::UnimplementedError(
      absl::StrCat("no kernel for op ", std::string(OpKind(op))));
}

}  // namespace

absl::Status Evaluate(const v1::OpAttributes& attributes,
                      absl::Span<const TensorView> inputs,
                      absl::Span<const MutableTensorView> outputs,
                      const EvaluateOptions& options) {
  std::vector<TensorView> output_types;
  for (const MutableTensorView& output : outputs) {
    output_types.push_back(output.type_only());
  }
  EK_RETURN_IF_ERROR(CheckOp(attributes, inputs, output_types));
  if (NumElements(outputs[0].shape) == 0) return absl::OkStatus();
  return Dispatch(attributes, inputs, outputs[0], options.cpu_path);
}

}  // namespace edgekiln::ops
