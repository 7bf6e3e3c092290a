#include "compiler/frontend/tflite/convert_operator.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/model_reader.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;

// Larger windows, strides and dilations are damage, and would overflow.
constexpr int64_t kMaxWindowParameter = 1 << 16;

absl::Status MissingOptions(absl::string_view table) {
  return TfliteBroken(absl::StrCat("no ", std::string(table)), "",
                      "the options that belong to the operator");
}

// Sets op.clamp; leaves it absent where there is no activation.
template <typename ClampedOp>
absl::Status SetClamp(ActivationFunctionType activation, ClampedOp& op) {
  switch (activation) {
    case ActivationFunctionType::NONE:
      return absl::OkStatus();
    case ActivationFunctionType::RELU:
      op.mutable_clamp()->set_min(0);
      return absl::OkStatus();
    case ActivationFunctionType::RELU6:
      op.mutable_clamp()->set_min(0);
      op.mutable_clamp()->set_max(6);
      return absl::OkStatus();
    case ActivationFunctionType::RELU_N1_TO_1:
      op.mutable_clamp()->set_min(-1);
      op.mutable_clamp()->set_max(1);
      return absl::OkStatus();
    default:
      return TfliteUnsupported(
          absl::StrCat("fused activation ",
                       tflite::EnumNameActivationFunctionType(activation)),
          "", "NONE, RELU, RELU6, RELU_N1_TO_1",
          "apply the activation as an op of its own");
  }
}

// The shape of input `index`, which must have `rank` dimensions.
absl::StatusOr<std::vector<int64_t>> ShapeOfRank(const Graph& graph,
                                                 const Op& op, size_t index,
                                                 size_t rank) {
  if (index >= op.inputs.size() || op.inputs[index] == kNoTensor) {
    return TfliteBroken(absl::StrCat("input ", index, " is missing"), "");
  }
  const Tensor& tensor = graph.tensors[op.inputs[index]];
  if (tensor.shape.size() == rank) return tensor.shape;
  return TfliteUnsupported(absl::StrCat("input ", index, " '", tensor.name,
                                        "' of rank ", tensor.shape.size()),
                           "", absl::StrCat("rank ", rank),
                           "reshape the tensor");
}

// Integers of a small constant input.
absl::StatusOr<std::vector<int64_t>> ConstantInts(const Graph& graph,
                                                  const Op& op, size_t index) {
  if (index >= op.inputs.size() || op.inputs[index] == kNoTensor) {
    return TfliteBroken(absl::StrCat("input ", index, " is missing"), "");
  }
  const Tensor& tensor = graph.tensors[op.inputs[index]];
  const bool ints = tensor.type == v1::INT32 || tensor.type == v1::INT64;
  if (!tensor.is_constant() || !ints) {
    return TfliteUnsupported(absl::StrCat("input ", index, " '", tensor.name,
                                          "' is not a constant of integers"),
                             "", "a constant INT32 or INT64",
                             "export the model with static shapes");
  }
  const auto bytes = static_cast<size_t>(ElementBytes(tensor.type));
  std::vector<int64_t> values;
  for (size_t at = 0; at + bytes <= tensor.data->size(); at += bytes) {
    if (std::ssize(values) == 2 * ops::kMaxRank) {
      return TfliteBroken(absl::StrCat("input ", index, " is too long"), "",
                          absl::StrCat("at most ", 2 * ops::kMaxRank));
    }
    // Little-endian; sign extension by the narrower type.
    int64_t wide = 0;
    int32_t narrow = 0;
    std::memcpy(&wide, tensor.data->data() + at, bytes);
    std::memcpy(&narrow, tensor.data->data() + at, sizeof(narrow));
    values.push_back(bytes == sizeof(narrow) ? narrow : wide);
  }
  return values;
}

template <typename Options>
absl::Status SetStridesAndDilations(const Options& options,
                                    v1::Window2d& window) {
  if constexpr (requires { options.dilation_h_factor(); }) {
    window.set_dilation_h(options.dilation_h_factor());
    window.set_dilation_w(options.dilation_w_factor());
  } else {
    window.set_dilation_h(1);
    window.set_dilation_w(1);
  }
  window.set_stride_h(options.stride_h());
  window.set_stride_w(options.stride_w());
  for (const int64_t value : {window.stride_h(), window.stride_w(),
                              window.dilation_h(), window.dilation_w()}) {
    if (value < 1 || value > kMaxWindowParameter) {
      return TfliteBroken(absl::StrCat("stride or dilation ", value), "",
                          absl::StrCat("1 to ", kMaxWindowParameter));
    }
  }
  return absl::OkStatus();
}

// Strides, dilations and explicit paddings of a window on `x` (NHWC).
template <typename Options>
absl::Status SetWindow(const Options& options, const std::vector<int64_t>& x,
                       int64_t kernel_h, int64_t kernel_w,
                       v1::Window2d& window) {
  EK_RETURN_IF_ERROR(SetStridesAndDilations(options, window));
  if (kernel_h < 1 || kernel_w < 1 || kernel_h > kMaxWindowParameter ||
      kernel_w > kMaxWindowParameter) {
    return TfliteBroken(absl::StrCat("window ", kernel_h, "x", kernel_w), "",
                        absl::StrCat("1 to ", kMaxWindowParameter));
  }
  if (options.padding() == tflite::Padding::VALID) return absl::OkStatus();
  if (options.padding() != tflite::Padding::SAME) {
    return TfliteBroken("unknown padding", "", "SAME or VALID");
  }
  const auto [top, bottom] =
      ops::SamePadding(x[1], kernel_h, window.stride_h(), window.dilation_h());
  const auto [left, right] =
      ops::SamePadding(x[2], kernel_w, window.stride_w(), window.dilation_w());
  window.set_pad_top(top);
  window.set_pad_bottom(bottom);
  window.set_pad_left(left);
  window.set_pad_right(right);
  return absl::OkStatus();
}

absl::Status ConvertConv2d(const tflite::Operator& from, const Graph& graph,
                           Op& op) {
  const auto* options = from.builtin_options_as_Conv2DOptions();
  if (options == nullptr) return MissingOptions("Conv2DOptions");
  EK_ASSIGN_OR_RETURN(const auto x, ShapeOfRank(graph, op, 0, 4));
  EK_ASSIGN_OR_RETURN(const auto w, ShapeOfRank(graph, op, 1, 4));
  v1::Conv2d& conv = *op.attributes.mutable_conv2d();
  EK_RETURN_IF_ERROR(
      SetWindow(*options, x, w[1], w[2], *conv.mutable_window()));
  if (w[3] != x[3]) {
    return TfliteUnsupported(
        absl::StrCat("grouped convolution: ", x[3], " input channels, ", w[3],
                     " weight channels"),
        "", "1 group", "split the convolution by group");
  }
  return SetClamp(options->fused_activation_function(), conv);
}

absl::Status ConvertDepthwise(const tflite::Operator& from, const Graph& graph,
                              Op& op) {
  const auto* options = from.builtin_options_as_DepthwiseConv2DOptions();
  if (options == nullptr) return MissingOptions("DepthwiseConv2DOptions");
  EK_ASSIGN_OR_RETURN(const auto x, ShapeOfRank(graph, op, 0, 4));
  EK_ASSIGN_OR_RETURN(const auto w, ShapeOfRank(graph, op, 1, 4));
  v1::DepthwiseConv2d& conv = *op.attributes.mutable_depthwise_conv2d();
  EK_RETURN_IF_ERROR(
      SetWindow(*options, x, w[1], w[2], *conv.mutable_window()));
  // The shapes decide; the field of the same name is redundant.
  if (x[3] < 1 || w[3] % x[3] != 0 || w[3] / x[3] > kMaxWindowParameter) {
    return TfliteBroken(
        absl::StrCat(w[3], " weight channels for ", x[3], " input channels"),
        "", "a multiple of the input channels");
  }
  conv.set_depth_multiplier(static_cast<int32_t>(w[3] / x[3]));
  return SetClamp(options->fused_activation_function(), conv);
}

template <typename Pool>
absl::Status ConvertPool(const tflite::Operator& from, const Graph& graph,
                         const Op& op, Pool& pool) {
  const auto* options = from.builtin_options_as_Pool2DOptions();
  if (options == nullptr) return MissingOptions("Pool2DOptions");
  EK_ASSIGN_OR_RETURN(const auto x, ShapeOfRank(graph, op, 0, 4));
  pool.set_kernel_h(options->filter_height());
  pool.set_kernel_w(options->filter_width());
  EK_RETURN_IF_ERROR(SetWindow(*options, x, options->filter_height(),
                               options->filter_width(),
                               *pool.mutable_window()));
  return SetClamp(options->fused_activation_function(), pool);
}

absl::Status ConvertFullyConnected(const tflite::Operator& from, Op& op) {
  const auto* options = from.builtin_options_as_FullyConnectedOptions();
  if (options == nullptr) return MissingOptions("FullyConnectedOptions");
  if (options->weights_format() != 0) {
    return TfliteUnsupported("shuffled fully connected weights", "",
                             "the default weights format",
                             "convert without weight shuffling");
  }
  return SetClamp(options->fused_activation_function(),
                  *op.attributes.mutable_fully_connected());
}

absl::Status ConvertSoftmax(const tflite::Operator& from, const Graph& graph,
                            Op& op) {
  const auto* options = from.builtin_options_as_SoftmaxOptions();
  if (options == nullptr) return MissingOptions("SoftmaxOptions");
  if (op.inputs.empty() || op.inputs[0] == kNoTensor) {
    return TfliteBroken("input 0 is missing", "");
  }
  v1::Softmax& softmax = *op.attributes.mutable_softmax();
  softmax.set_beta(options->beta());
  const size_t rank = graph.tensors[op.inputs[0]].shape.size();
  softmax.set_axis(static_cast<int32_t>(rank) - 1);
  return absl::OkStatus();
}

// Negative axes count from the end.
absl::StatusOr<int32_t> NormalAxis(int64_t axis, size_t rank) {
  const int64_t normal = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (normal < 0 || normal >= static_cast<int64_t>(rank)) {
    return TfliteBroken(absl::StrCat("axis ", axis, " of ", rank), "");
  }
  return static_cast<int32_t>(normal);
}

absl::Status ConvertConcat(const tflite::Operator& from, const Graph& graph,
                           Op& op) {
  const auto* options = from.builtin_options_as_ConcatenationOptions();
  if (options == nullptr) return MissingOptions("ConcatenationOptions");
  if (options->fused_activation_function() != ActivationFunctionType::NONE) {
    return TfliteUnsupported("concatenation with a fused activation", "",
                             "no activation",
                             "apply the activation as an op of its own");
  }
  const size_t rank = graph.tensors[op.outputs[0]].shape.size();
  EK_ASSIGN_OR_RETURN(const int32_t axis, NormalAxis(options->axis(), rank));
  op.attributes.mutable_concat()->set_axis(axis);
  return absl::OkStatus();
}

absl::Status ConvertMean(const tflite::Operator& from, const Graph& graph,
                         Op& op) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      ConstantInts(graph, op, 1));
  const size_t rank = graph.tensors[op.inputs[0]].shape.size();
  std::vector<int32_t> normal;
  for (const int64_t axis : axes) {
    EK_ASSIGN_OR_RETURN(const int32_t value, NormalAxis(axis, rank));
    normal.push_back(value);
  }
  std::sort(normal.begin(), normal.end());
  normal.erase(std::unique(normal.begin(), normal.end()), normal.end());
  v1::ReduceMean& mean = *op.attributes.mutable_reduce_mean();
  mean.mutable_axes()->Add(normal.begin(), normal.end());
  const auto* options = from.builtin_options_as_ReducerOptions();
  mean.set_keep_dims(options != nullptr && options->keep_dims());
  op.inputs.resize(1);
  return absl::OkStatus();
}

absl::Status ConvertPad(const Graph& graph, Op& op) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings,
                      ConstantInts(graph, op, 1));
  if (paddings.size() % 2 != 0) {
    return TfliteBroken("odd number of paddings", "", "pairs");
  }
  v1::Pad& pad = *op.attributes.mutable_pad();
  for (size_t i = 0; i < paddings.size(); i += 2) {
    pad.add_before(paddings[i]);
    pad.add_after(paddings[i + 1]);
  }
  op.inputs.resize(1);
  return absl::OkStatus();
}

absl::Status ConvertTranspose(const Graph& graph, Op& op) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> permutation,
                      ConstantInts(graph, op, 1));
  v1::Transpose& transpose = *op.attributes.mutable_transpose();
  for (const int64_t from : permutation) {
    EK_ASSIGN_OR_RETURN(const int32_t axis,
                        NormalAxis(from, permutation.size()));
    transpose.add_permutation(axis);
  }
  op.inputs.resize(1);
  return absl::OkStatus();
}

// The output tensor has the shape; a second input repeats it.
absl::Status ConvertReshape(Op& op) {
  op.attributes.mutable_reshape();
  op.inputs.resize(std::min<size_t>(op.inputs.size(), 1));
  return absl::OkStatus();
}

}  // namespace

bool IsConvertible(BuiltinOperator code) {
  switch (code) {
    case BuiltinOperator::ADD:
    case BuiltinOperator::AVERAGE_POOL_2D:
    case BuiltinOperator::CONCATENATION:
    case BuiltinOperator::CONV_2D:
    case BuiltinOperator::DEPTHWISE_CONV_2D:
    case BuiltinOperator::DEQUANTIZE:
    case BuiltinOperator::EXPAND_DIMS:
    case BuiltinOperator::FULLY_CONNECTED:
    case BuiltinOperator::MAX_POOL_2D:
    case BuiltinOperator::MEAN:
    case BuiltinOperator::MUL:
    case BuiltinOperator::PAD:
    case BuiltinOperator::QUANTIZE:
    case BuiltinOperator::RELU:
    case BuiltinOperator::RELU6:
    case BuiltinOperator::RELU_N1_TO_1:
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::SOFTMAX:
    case BuiltinOperator::SQUEEZE:
    case BuiltinOperator::TRANSPOSE:
      return true;
    default:
      return false;
  }
}

absl::Status ConvertOperator(const tflite::Operator& from, BuiltinOperator code,
                             const Graph& graph, Op& op) {
  const auto* add = from.builtin_options_as_AddOptions();
  const auto* mul = from.builtin_options_as_MulOptions();
  v1::OpAttributes& attributes = op.attributes;
  switch (code) {
    case BuiltinOperator::ADD:
      return SetClamp(add == nullptr ? ActivationFunctionType::NONE
                                     : add->fused_activation_function(),
                      *attributes.mutable_add());
    case BuiltinOperator::MUL:
      return SetClamp(mul == nullptr ? ActivationFunctionType::NONE
                                     : mul->fused_activation_function(),
                      *attributes.mutable_mul());
    case BuiltinOperator::RELU:
      return SetClamp(ActivationFunctionType::RELU, *attributes.mutable_clip());
    case BuiltinOperator::RELU6:
      return SetClamp(ActivationFunctionType::RELU6,
                      *attributes.mutable_clip());
    case BuiltinOperator::RELU_N1_TO_1:
      return SetClamp(ActivationFunctionType::RELU_N1_TO_1,
                      *attributes.mutable_clip());
    case BuiltinOperator::CONV_2D:
      return ConvertConv2d(from, graph, op);
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      return ConvertDepthwise(from, graph, op);
    case BuiltinOperator::FULLY_CONNECTED:
      return ConvertFullyConnected(from, op);
    case BuiltinOperator::AVERAGE_POOL_2D:
      return ConvertPool(from, graph, op, *attributes.mutable_average_pool2d());
    case BuiltinOperator::MAX_POOL_2D:
      return ConvertPool(from, graph, op, *attributes.mutable_max_pool2d());
    case BuiltinOperator::SOFTMAX:
      return ConvertSoftmax(from, graph, op);
    case BuiltinOperator::CONCATENATION:
      return ConvertConcat(from, graph, op);
    case BuiltinOperator::MEAN:
      return ConvertMean(from, graph, op);
    case BuiltinOperator::PAD:
      return ConvertPad(graph, op);
    case BuiltinOperator::TRANSPOSE:
      return ConvertTranspose(graph, op);
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::SQUEEZE:
    case BuiltinOperator::EXPAND_DIMS:
      return ConvertReshape(op);
    case BuiltinOperator::QUANTIZE:
      attributes.mutable_quantize();
      return absl::OkStatus();
    case BuiltinOperator::DEQUANTIZE:
      attributes.mutable_dequantize();
      return absl::OkStatus();
    default:
      return TfliteUnsupported("op without a conversion", "", "", "");
  }
}

}  // namespace edgekiln::compiler
