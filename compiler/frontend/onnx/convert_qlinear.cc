// Operators on quantized tensors: what they compute is the plain operator on
// the real values, quantized again. The pass that moves ops into the integers
// finds them as it finds the Q/DQ pairs that exporters write.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/pooling.h"
#include "compiler/frontend/onnx/products.h"
#include "compiler/frontend/onnx/quantized_operands.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Quantizes `y` by inputs `scale` and `zero`, whose type is the result's, and
// binds it. Without a zero point the type is `fallback`.
absl::Status BindQuantized(const Node& node, Builder& builder, TensorId y,
                           int scale, int zero, v1::ElementType fallback) {
  EK_ASSIGN_OR_RETURN(
      Quantization quantization,
      ReadQuantization(node, builder, scale, zero, 0, builder.rank(y)));
  v1::ElementType type = fallback;
  if (node.has_input(zero)) {
    EK_ASSIGN_OR_RETURN(const TensorId id, builder.Input(node, zero));
    type = builder.tensor(id).type;
  }
  EK_ASSIGN_OR_RETURN(y, builder.EmitAs(node, "quantized", QuantizeOp(), {y},
                                        {type, std::move(quantization)}));
  return builder.Bind(node, 0, y);
}

// The bias of QLinearConv and QGemm: int32 steps of `factor` times x's scale
// times the weights'; channels come last.
absl::StatusOr<TensorId> QuantizedBias(const Node& node, Builder& builder,
                                       int index, float factor = 1) {
  EK_ASSIGN_OR_RETURN(const Quantization x,
                      ReadQuantization(node, builder, 1, 2, 0, 1));
  EK_ASSIGN_OR_RETURN(const Quantization w,
                      ReadQuantization(node, builder, 4, 5, 0, 1));
  Quantization bias = w;
  for (float& scale : bias.scale) scale *= factor * x.scale[0];
  std::fill(bias.zero_point.begin(), bias.zero_point.end(), 0);
  EK_ASSIGN_OR_RETURN(TensorId b, builder.Input(node, index));
  bias.axis = static_cast<int32_t>(std::max<int64_t>(builder.rank(b), 1) - 1);
  EK_ASSIGN_OR_RETURN(b, builder.Quantized(node, "bias-meaning", b, bias));
  return builder.Emit(node, "bias", DequantizeOp(), {b});
}

absl::StatusOr<v1::ElementType> TypeOfInput(const Node& node,
                                            const Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  return builder.tensor(x).type;
}

absl::Status ConvertPoolLike(const Node& node, Builder& builder,
                             absl::StatusOr<TensorId> (*pool)(const Node&,
                                                              Builder&,
                                                              TensorId)) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(TensorId x,
                      DequantizedOperand(node, builder, "real", 0, 1, 2, 0));
  EK_ASSIGN_OR_RETURN(const bool last, node.Flag("channels_last", false));
  const int32_t rank = static_cast<int32_t>(builder.rank(x));
  if (rank < 3) return node.Invalid("the input has no spatial dimensions");
  std::vector<int32_t> to_first = {0, rank - 1};
  std::vector<int32_t> to_last = {0};
  for (int32_t i = 1; i + 1 < rank; ++i) {
    to_first.push_back(i);
    to_last.push_back(i + 1);
  }
  to_last.push_back(1);
  if (last) {
    EK_ASSIGN_OR_RETURN(x, builder.Transpose(node, "nchw", x, to_first));
  }
  EK_ASSIGN_OR_RETURN(TensorId y, pool(node, builder, x));
  if (last) {
    EK_ASSIGN_OR_RETURN(y, builder.Transpose(node, "nhwc", y, to_last));
  }
  return BindQuantized(node, builder, y, 3, 4, type);
}

// The activation that FusedConv ends with.
absl::StatusOr<TensorId> FusedActivation(const Node& node, Builder& builder,
                                         TensorId x) {
  EK_ASSIGN_OR_RETURN(const std::string name, node.String("activation", ""));
  const std::vector<float> given = node.Floats("activation_params");
  const auto parameter = [&given](size_t i, float fallback) {
    return i < given.size() ? given[i] : fallback;
  };
  v1::Clamp clamp;
  if (name.empty()) return x;
  if (name == "Relu") {
    clamp.set_min(0);
    return builder.Emit(node, "activation", ClipOp(clamp), {x});
  }
  if (name == "Clip" && given.size() == 2) {
    clamp.set_min(given[0]);
    clamp.set_max(given[1]);
    return builder.Emit(node, "activation", ClipOp(clamp), {x});
  }
  v1::OpAttributes op;
  if (name == "Tanh") {
    op = UnaryOp(v1::Unary::TANH);
  } else if (name == "Sigmoid") {
    op = UnaryOp(v1::Unary::SIGMOID);
  } else if (name == "LeakyRelu") {
    op = UnaryOp(v1::Unary::LEAKY_RELU, parameter(0, 0.01f));
  } else if (name == "HardSigmoid") {
    op = UnaryOp(v1::Unary::HARD_SIGMOID, parameter(0, 0.2f),
                 parameter(1, 0.5f));
  } else {
    return node.Unsupported(absl::StrCat("activation '", name, "'"),
                            "Relu, Clip, Tanh, Sigmoid, LeakyRelu, HardSigmoid",
                            "export without optimizations of the runtime");
  }
  return builder.Emit(node, "activation", std::move(op), {x});
}

}  // namespace

absl::Status ConvertQLinearConv(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(const TensorId x,
                      DequantizedOperand(node, builder, "real", 0, 1, 2, 0));
  EK_ASSIGN_OR_RETURN(
      const TensorId w,
      DequantizedOperand(node, builder, "weights-real", 3, 4, 5, 0));
  TensorId bias = kNoTensor;
  if (node.has_input(8)) {
    EK_ASSIGN_OR_RETURN(bias, QuantizedBias(node, builder, 8));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitConv(node, builder, x, w, bias));
  return BindQuantized(node, builder, y, 6, 7, type);
}

absl::Status ConvertQLinearMatMul(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  // Scales per row of a, per column of b.
  EK_ASSIGN_OR_RETURN(const TensorId a,
                      DequantizedOperand(node, builder, "a-real", 0, 1, 2, -2));
  EK_ASSIGN_OR_RETURN(const TensorId b,
                      DequantizedOperand(node, builder, "b-real", 3, 4, 5, -1));
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitMatMul(node, builder, a, b));
  return BindQuantized(node, builder, y, 6, 7, type);
}

absl::Status ConvertQLinearAdd(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(const TensorId a,
                      DequantizedOperand(node, builder, "a-real", 0, 1, 2, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b,
                      DequantizedOperand(node, builder, "b-real", 3, 4, 5, 0));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", node.op_type() == "QLinearMul" ? MulOp() : AddOp(),
                   {a, b}));
  return BindQuantized(node, builder, y, 6, 7, type);
}

absl::Status ConvertQLinearAveragePool(const Node& node, Builder& builder) {
  return ConvertPoolLike(node, builder, EmitAveragePool);
}

absl::Status ConvertQLinearGlobalAveragePool(const Node& node,
                                             Builder& builder) {
  return ConvertPoolLike(node, builder, EmitGlobalAveragePool);
}

absl::Status ConvertQLinearSoftmax(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(TensorId x,
                      DequantizedOperand(node, builder, "real", 0, 1, 2, 0));
  EK_ASSIGN_OR_RETURN(const int64_t opset, node.Int("opset", 13));
  EK_ASSIGN_OR_RETURN(int32_t axis, AxisAttribute(node, -1, builder.rank(x)));
  const std::vector<int64_t> shape = builder.shape(x);
  if (opset < 13 && axis + 1 < builder.rank(x)) {
    std::vector<int64_t> rows = {1, 1};
    for (int32_t i = 0; i < builder.rank(x); ++i) {
      rows[i < axis ? 0 : 1] *= shape[i];
    }
    EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "rows", x, rows));
    axis = 1;
  }
  v1::OpAttributes attributes;
  attributes.mutable_softmax()->set_beta(1.0f);
  attributes.mutable_softmax()->set_axis(axis);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "unrows", y, shape));
  return BindQuantized(node, builder, y, 3, 4, type);
}

absl::Status ConvertQLinearUnary(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(const TensorId x,
                      DequantizedOperand(node, builder, "real", 0, 1, 2, 0));
  v1::OpAttributes op = UnaryOp(v1::Unary::SIGMOID);
  if (node.op_type() == "QLinearLeakyRelu") {
    EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 0.01f));
    op = UnaryOp(v1::Unary::LEAKY_RELU, alpha);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(op), {x}));
  return BindQuantized(node, builder, y, 3, 4, type);
}

// The result's scale and zero point, then each part's integers with theirs.
absl::Status ConvertQLinearConcat(const Node& node, Builder& builder) {
  if (node.num_inputs() < 5 || node.num_inputs() % 3 != 2) {
    return node.Invalid(absl::StrCat(node.num_inputs(), " inputs"));
  }
  EK_ASSIGN_OR_RETURN(const TensorId first, builder.Input(node, 2));
  const v1::ElementType type = builder.tensor(first).type;
  std::vector<TensorId> parts;
  for (int i = 2; i < node.num_inputs(); i += 3) {
    EK_ASSIGN_OR_RETURN(
        const TensorId part,
        DequantizedOperand(node, builder, absl::StrCat("real-", parts.size()),
                           i, i + 1, i + 2, 0));
    parts.push_back(part);
  }
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 1, builder.rank(parts[0])));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", ConcatOp(axis), std::move(parts)));
  return BindQuantized(node, builder, y, 0, 1, type);
}

// Without a scale the result is real.
absl::Status ConvertQGemm(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeOfInput(node, builder));
  EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  EK_ASSIGN_OR_RETURN(const bool trans_b, node.Flag("transB", false));
  EK_ASSIGN_OR_RETURN(const TensorId a,
                      DequantizedOperand(node, builder, "a-real", 0, 1, 2, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b,
                      DequantizedOperand(node, builder, "b-real", 3, 4, 5,
                                         /*axis=*/trans_b ? 0 : 1));
  TensorId c = kNoTensor;
  if (node.has_input(6)) {
    EK_ASSIGN_OR_RETURN(c, QuantizedBias(node, builder, 6, alpha));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitGemm(node, builder, a, b, c));
  if (!node.has_input(7)) return builder.Bind(node, 0, y);
  return BindQuantized(node, builder, y, 7, 8, type);
}

absl::Status ConvertFusedConv(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId w, builder.FloatInput(node, 1));
  TensorId bias = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(bias, builder.FloatInput(node, 2));
  }
  EK_ASSIGN_OR_RETURN(TensorId y, EmitConv(node, builder, x, w, bias));
  if (node.has_input(3)) {
    EK_ASSIGN_OR_RETURN(const TensorId z, builder.FloatInput(node, 3));
    EK_ASSIGN_OR_RETURN(y, builder.Emit(node, "sum", AddOp(), {y, z}));
  }
  EK_ASSIGN_OR_RETURN(y, FusedActivation(node, builder, y));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
