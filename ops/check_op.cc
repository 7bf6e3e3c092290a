#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/gemm.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

using Views = absl::Span<const TensorView>;

absl::Status Bad(std::string what, std::string need = "",
                 std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "OP_TYPE",
                    .what = std::move(what),
                    .limit = std::move(limit),
                    .need = std::move(need)});
}

std::string TypeName(v1::ElementType type) {
  return v1::ElementType_Name(type);
}

// Activations that quantized kernels compute with.
bool IsQuantizedType(v1::ElementType type) {
  return type == v1::INT8 || type == v1::UINT8;
}

absl::Status WantType(const TensorView& tensor, absl::string_view which,
                      v1::ElementType type) {
  if (tensor.type == type) return absl::OkStatus();
  return Bad(absl::StrCat(which, " is ", TypeName(tensor.type)),
             TypeName(type));
}

absl::Status WantPerTensor(const TensorView& tensor, absl::string_view which) {
  if (tensor.quantization.scale.size() == 1) return absl::OkStatus();
  return Bad(
      absl::StrCat(which, " has ", tensor.quantization.scale.size(), " scales"),
      "one scale");
}

absl::Status WantCount(Views inputs, size_t at_least, size_t at_most) {
  if (inputs.size() > at_most) {
    return Bad(absl::StrCat(inputs.size(), " inputs"),
               absl::StrCat("at most ", at_most));
  }
  for (size_t i = 0; i < at_least; ++i) {
    if (i >= inputs.size() || !inputs[i].present()) {
      return Bad(absl::StrCat("input ", i, " is missing"),
                 absl::StrCat(at_least, " inputs"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClamp(const v1::Clamp& clamp) {
  const float low =
      clamp.has_min() ? clamp.min() : -std::numeric_limits<float>::infinity();
  const float high =
      clamp.has_max() ? clamp.max() : std::numeric_limits<float>::infinity();
  if (low <= high) return absl::OkStatus();  // False for NaN.
  return Bad(absl::StrCat("clamp from ", low, " to ", high), "min <= max");
}

// All of `inputs` and the output are float, or all are one quantized type with
// one scale each.
absl::Status WantUniform(Views inputs, const TensorView& output) {
  const bool is_float = output.type == v1::FLOAT32;
  if (!is_float && !IsQuantizedType(output.type)) {
    return Bad(absl::StrCat("output is ", TypeName(output.type)),
               "FLOAT32, INT8 or UINT8");
  }
  if (!is_float) EK_RETURN_IF_ERROR(WantPerTensor(output, "output"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string which = absl::StrCat("input ", i);
    EK_RETURN_IF_ERROR(WantType(inputs[i], which, output.type));
    if (!is_float) EK_RETURN_IF_ERROR(WantPerTensor(inputs[i], which));
  }
  return absl::OkStatus();
}

absl::Status CheckBias(Views inputs, const TensorView& output,
                       int64_t channels) {
  if (inputs.size() < 3 || !inputs[2].present()) return absl::OkStatus();
  EK_RETURN_IF_ERROR(WantType(
      inputs[2], "bias", output.type == v1::FLOAT32 ? v1::FLOAT32 : v1::INT32));
  if (inputs[2].shape.size() == 1 && inputs[2].shape[0] == channels) {
    return absl::OkStatus();
  }
  return Bad(
      absl::StrCat("bias of shape [", absl::StrJoin(inputs[2].shape, ","), "]"),
      absl::StrCat("[", channels, "]"));
}

// What the kernels rearrange of weights has to stay in memory.
absl::Status CheckPackedSize(int64_t terms, int64_t columns) {
  const int64_t padded =
      (columns + kGemmColumns - 1) / kGemmColumns * kGemmColumns;
  const auto elements = CheckedMul(terms, padded);
  if (elements && *elements <= kMaxPackedElements) return absl::OkStatus();
  return Bad(absl::StrCat("weights of ", terms, " x ", columns, " elements"),
             "", absl::StrCat(kMaxPackedElements, " elements"));
}

// `terms` products enter each output; `axis` is the channel dimension of the
// weights.
absl::Status CheckDot(const v1::Clamp& clamp, Views inputs,
                      const TensorView& output, int64_t terms, int32_t axis) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 3));
  EK_RETURN_IF_ERROR(CheckClamp(clamp));
  EK_RETURN_IF_ERROR(WantUniform(inputs.first(1), output));
  EK_RETURN_IF_ERROR(WantType(inputs[1], "weights", output.type));
  EK_RETURN_IF_ERROR(CheckBias(inputs, output, inputs[1].shape[axis]));
  EK_RETURN_IF_ERROR(CheckPackedSize(terms, inputs[1].shape[axis]));
  if (output.type == v1::FLOAT32) return absl::OkStatus();
  const QuantizationView& w = inputs[1].quantization;
  if (!w.present() || (w.per_channel() && w.axis != axis)) {
    return Bad("weights without scales or with scales along another axis",
               absl::StrCat("one scale, or one per extent of axis ", axis));
  }
  if (output.type == v1::INT8) {
    for (const int32_t zero : w.zero_point) {
      if (zero != 0) {
        return Bad(absl::StrCat("int8 weights with zero point ", zero), "0");
      }
    }
  } else if (w.per_channel()) {
    return Bad("uint8 weights with a scale per channel", "one scale");
  }
  // So that the sum of products never leaves int32.
  const int64_t largest = output.type == v1::INT8 ? 255 * 128 : 255 * 255;
  if (terms > std::numeric_limits<int32_t>::max() / largest) {
    return Bad(absl::StrCat(terms, " products per output"), "",
               absl::StrCat(std::numeric_limits<int32_t>::max() / largest,
                            " products in an int32 accumulator"));
  }
  return absl::OkStatus();
}

absl::Status CheckMatMul(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  EK_RETURN_IF_ERROR(
      CheckPackedSize(inputs[0].shape.back(), inputs[1].shape.back()));
  if (output.type == v1::FLOAT32) return absl::OkStatus();
  const int64_t limit = std::numeric_limits<int32_t>::max() / (255 * 255);
  if (inputs[0].shape.back() <= limit) return absl::OkStatus();
  return Bad(absl::StrCat(inputs[0].shape.back(), " products per output"), "",
             absl::StrCat(limit, " products in an int32 accumulator"));
}

// Ops that copy or compare values: one type, one quantization.
absl::Status CheckMove(const TensorView& input, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantType(output, "output", input.type));
  if (input.quantization == output.quantization) return absl::OkStatus();
  return Bad("input and output have different quantization",
             "the same scale and zero point");
}

template <typename Pool>
absl::Status CheckPool(const Pool& op, Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(CheckClamp(op.clamp()));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  // A window of padding only has nothing to average or compare, and sums of
  // int32 must hold the window.
  const v1::Window2d& window = op.window();
  const int64_t reach_h = int64_t{op.kernel_h() - 1} * window.dilation_h() + 1;
  const int64_t reach_w = int64_t{op.kernel_w() - 1} * window.dilation_w() + 1;
  if (window.pad_top() >= reach_h || window.pad_bottom() >= reach_h ||
      window.pad_left() >= reach_w || window.pad_right() >= reach_w) {
    return Bad("pooling window that lies in the padding entirely",
               "paddings smaller than the window");
  }
  if (window.dilation_h() != 1 || window.dilation_w() != 1) {
    return Bad("dilated pooling window", "dilation 1");
  }
  if (int64_t{op.kernel_h()} * op.kernel_w() > (1 << 22)) {
    return Bad("pooling window is too large", "", "4194304 elements");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckQuantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  const bool known = output.type == v1::INT8 || output.type == v1::UINT8 ||
                     output.type == v1::INT16 || output.type == v1::INT32;
  if (!known || !output.quantization.present()) {
    return Bad(absl::StrCat("output is ", TypeName(output.type)),
               "a quantized INT8, UINT8, INT16 or INT32");
  }
  if (inputs[0].type == v1::FLOAT32) return absl::OkStatus();
  if (!IsQuantizedType(inputs[0].type) || !IsQuantizedType(output.type)) {
    return Bad(
        absl::StrCat(TypeName(inputs[0].type), " to ", TypeName(output.type)),
        "FLOAT32, or INT8 and UINT8 on both sides");
  }
  EK_RETURN_IF_ERROR(WantPerTensor(inputs[0], "input 0"));
  return WantPerTensor(output, "output");
}

absl::Status CheckDequantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantType(output, "output", v1::FLOAT32));
  const v1::ElementType type = inputs[0].type;
  const bool known = type == v1::INT8 || type == v1::UINT8 ||
                     type == v1::INT16 || type == v1::INT32;
  if (known && inputs[0].quantization.present()) return absl::OkStatus();
  return Bad(absl::StrCat("input 0 is ", TypeName(type)),
             "a quantized INT8, UINT8, INT16 or INT32");
}

absl::Status CheckBatchNormalization(const v1::BatchNormalization& op,
                                     Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 5, 5));
  EK_RETURN_IF_ERROR(WantType(output, "output", v1::FLOAT32));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  if (!(op.epsilon() >= 0)) return Bad("epsilon is negative", "0 or more");
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() != 1 ||
        inputs[i].shape[0] != inputs[0].shape[op.axis()]) {
      return Bad(absl::StrCat("input ", i, " of shape [",
                              absl::StrJoin(inputs[i].shape, ","), "]"),
                 absl::StrCat("[", inputs[0].shape[op.axis()], "]"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReshape(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (NumElements(inputs[0].shape) != NumElements(output.shape)) {
    return Bad(absl::StrCat("[", absl::StrJoin(inputs[0].shape, ","), "] as [",
                            absl::StrJoin(output.shape, ","), "]"),
               "as many elements");
  }
  if (inputs[0].quantization.per_channel()) {
    return Bad("reshape of a tensor quantized per channel", "one scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckTranspose(const v1::Transpose& op, Views inputs,
                            const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantType(output, "output", inputs[0].type));
  const QuantizationView& in = inputs[0].quantization;
  const QuantizationView& out = output.quantization;
  const bool same = in.scale == out.scale && in.zero_point == out.zero_point;
  if (!same || (in.per_channel() && op.permutation(out.axis) != in.axis)) {
    return Bad("input and output have different quantization",
               "the same, its axis moved with the dimensions");
  }
  return absl::OkStatus();
}

absl::Status CheckSoftmax(const v1::Softmax& op, Views inputs,
                          const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  if (std::isfinite(op.beta()) && op.beta() > 0) return absl::OkStatus();
  return Bad(absl::StrCat("beta ", op.beta()), "finite and above 0");
}

absl::Status CheckPad(const v1::Pad& op, Views inputs,
                      const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (std::isnan(op.value())) return Bad("padding with NaN");
  if (inputs[0].quantization.per_channel()) {
    return Bad("padding of a tensor quantized per channel", "one scale");
  }
  if (inputs[0].type != v1::FLOAT32 && op.value() != 0 &&
      !inputs[0].quantization.present()) {
    return Bad(absl::StrCat("padding of ", TypeName(inputs[0].type), " with ",
                            op.value()),
               "0 for integers without a scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckMean(const v1::ReduceMean& op, Views inputs,
                       const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  int64_t count = 1;
  for (const int32_t axis : op.axes()) count *= inputs[0].shape[axis];
  if (output.type == v1::FLOAT32 || count <= (1 << 23)) return absl::OkStatus();
  return Bad(absl::StrCat("mean of ", count, " values"), "",
             "8388608 values in an int32 sum");
}

absl::Status CheckConcat(Views inputs, const TensorView& output) {
  if (output.type == v1::FLOAT32 || IsQuantizedType(output.type)) {
    return WantUniform(inputs, output);
  }
  for (const TensorView& input : inputs) {
    EK_RETURN_IF_ERROR(CheckMove(input, output));
  }
  return absl::OkStatus();
}

absl::Status CheckTypes(const v1::OpAttributes& op, Views inputs,
                        const TensorView& output) {
  const absl::Span<const int64_t> w =
      inputs.size() > 1 ? inputs[1].shape : absl::Span<const int64_t>();
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return CheckDot(op.conv2d().clamp(), inputs, output, w[1] * w[2] * w[3],
                      0);
    case v1::OpAttributes::kDepthwiseConv2D:
      return CheckDot(op.depthwise_conv2d().clamp(), inputs, output,
                      w[1] * w[2], 3);
    case v1::OpAttributes::kFullyConnected:
      return CheckDot(op.fully_connected().clamp(), inputs, output, w[1], 0);
    case v1::OpAttributes::kMatMul:
      return CheckMatMul(inputs, output);
    case v1::OpAttributes::kAdd:
      EK_RETURN_IF_ERROR(CheckClamp(op.add().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
      return WantUniform(inputs, output);
    case v1::OpAttributes::kMul:
      EK_RETURN_IF_ERROR(CheckClamp(op.mul().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
      return WantUniform(inputs, output);
    case v1::OpAttributes::kClip:
      EK_RETURN_IF_ERROR(CheckClamp(op.clip().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
      return WantUniform(inputs, output);
    case v1::OpAttributes::kReduceMean:
      return CheckMean(op.reduce_mean(), inputs, output);
    case v1::OpAttributes::kAveragePool2D:
      return CheckPool(op.average_pool2d(), inputs, output);
    case v1::OpAttributes::kMaxPool2D:
      return CheckPool(op.max_pool2d(), inputs, output);
    case v1::OpAttributes::kSoftmax:
      return CheckSoftmax(op.softmax(), inputs, output);
    case v1::OpAttributes::kReshape:
      return CheckReshape(inputs, output);
    case v1::OpAttributes::kTranspose:
      return CheckTranspose(op.transpose(), inputs, output);
    case v1::OpAttributes::kBatchNormalization:
      return CheckBatchNormalization(op.batch_normalization(), inputs, output);
    case v1::OpAttributes::kPad:
      return CheckPad(op.pad(), inputs, output);
    case v1::OpAttributes::kQuantize:
      return CheckQuantize(inputs, output);
    case v1::OpAttributes::kDequantize:
      return CheckDequantize(inputs, output);
    case v1::OpAttributes::kConcat:
      return CheckConcat(inputs, output);
    case v1::OpAttributes::OP_NOT_SET:
      break;
  }
  return Bad("op without attributes");
}

// A fully connected layer may keep or drop leading dimensions of 1.
bool ShapeFits(const v1::OpAttributes& op, const std::vector<int64_t>& inferred,
               absl::Span<const int64_t> declared) {
  if (op.has_fully_connected()) {
    return !declared.empty() && declared.back() == inferred.back() &&
           NumElements(declared) == NumElements(inferred);
  }
  return declared == absl::MakeConstSpan(inferred);
}

}  // namespace

absl::Status CheckOp(const v1::OpAttributes& attributes, Views inputs,
                     Views outputs) {
  if (outputs.size() != 1) {
    return Bad(absl::StrCat(outputs.size(), " outputs"), "1");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].present()) {
      EK_RETURN_IF_ERROR(CheckTensorType(inputs[i]), absl::StrCat("input ", i));
    }
  }
  const TensorView& output = outputs[0];
  EK_RETURN_IF_ERROR(CheckTensorType(output), "output");
  if (!attributes.has_reshape()) {
    EK_ASSIGN_OR_RETURN(const auto shapes, InferShapes(attributes, inputs));
    if (!ShapeFits(attributes, shapes[0], output.shape)) {
      return Bad(absl::StrCat("output has shape [",
                              absl::StrJoin(output.shape, ","), "]"),
                 absl::StrCat("[", absl::StrJoin(shapes[0], ","), "]"));
    }
  }
  return CheckTypes(attributes, inputs, output);
}

}  // namespace edgekiln::ops
