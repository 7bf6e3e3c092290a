// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/quantized_operands.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::Status CheckNoBlocks(const Node& node) {
  EK_ASSIGN_OR_RETURN(const int64_t block, node.Int("block_size", 0));
  if (block == 0) return absl::OkStatus();
  return node.Unsupported(absl::StrCat("blocks of ", block),
                          "one scale, or one per channel",
                          "quantize per tensor or per channel");
}

// Whether the scale is known now; if not, quantizing is arithmetic.
absl::StatusOr<bool> ScaleIsConstant(const Node& node, const Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId scale, builder.Input(node, 1));
  bool constant = builder.tensor(scale).is_constant();
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId zero, builder.Input(node, 2));
    constant = constant && builder.tensor(zero).is_constant();
  }
  return constant;
}

// A scale or zero point as float, in a shape that broadcasts over x.
absl::StatusOr<TensorId> RuntimeParameter(const Node& node, Builder& builder,
                                          int index, TensorId x, int64_t axis) {
  EK_ASSIGN_OR_RETURN(TensorId p, builder.PlainInput(node, index));
  EK_ASSIGN_OR_RETURN(
      p, builder.Cast(node, absl::StrCat("float-", index), p, v1::FLOAT32));
  std::vector<int64_t> shape;
  if (builder.tensor(p).num_elements() != 1) {
    EK_ASSIGN_OR_RETURN(axis, CheckedAxis(node, axis, builder.rank(x)));
    shape.assign(static_cast<size_t>(builder.rank(x)), 1);
    shape[axis] = builder.tensor(p).num_elements();
  }
  return builder.Reshape(node, absl::StrCat("channels-", index), p,
                         std::move(shape));
}

// Lowest and highest value of a type to quantize to.
std::pair<double, double> RangeOf(v1::ElementType type) {
  switch (type) {
    case v1::INT8:
      return {-128, 127};
    case v1::INT16:
      return {-32768, 32767};
    case v1::UINT16:
      return {0, 65535};
    default:
      return {0, 255};
  }
}

// round(x / scale) + zero, saturated, as bare integers.
absl::StatusOr<TensorId> EmitQuantization(const Node& node, Builder& builder,
                                          TensorId x, TensorId scale,
                                          TensorId zero, v1::ElementType type) {
  EK_ASSIGN_OR_RETURN(
      x, builder.Emit(node, "steps", BinaryOp(v1::Binary::DIV), {x, scale}));
  EK_ASSIGN_OR_RETURN(
      x, builder.Emit(node, "whole", UnaryOp(v1::Unary::ROUND), {x}));
  if (zero != kNoTensor) {
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "from-zero", AddOp(), {x, zero}));
  }
  const auto [low, high] = RangeOf(type);
  v1::Clamp clamp;
  clamp.set_min(static_cast<float>(low));
  clamp.set_max(static_cast<float>(high));
  EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "saturated", ClipOp(clamp), {x}));
  return builder.Cast(node, "integers", x, type);
}

absl::Status QuantizeAtRunTime(const Node& node, Builder& builder, TensorId x,
                               v1::ElementType type, int64_t axis) {
  EK_ASSIGN_OR_RETURN(const TensorId scale,
                      RuntimeParameter(node, builder, 1, x, axis));
  TensorId zero = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(zero, RuntimeParameter(node, builder, 2, x, axis));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      EmitQuantization(node, builder, x, scale, zero, type));
  return builder.Bind(node, 0, y);
}

absl::Status DequantizeAtRunTime(const Node& node, Builder& builder,
                                 int64_t axis) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(x, builder.Cast(node, "float", x, v1::FLOAT32));
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId zero,
                        RuntimeParameter(node, builder, 2, x, axis));
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "centered",
                                        BinaryOp(v1::Binary::SUB), {x, zero}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId scale,
                      RuntimeParameter(node, builder, 1, x, axis));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", MulOp(), {x, scale}));
  return builder.Bind(node, 0, y);
}

// The element type that QuantizeLinear gives.
absl::StatusOr<v1::ElementType> QuantizedType(const Node& node,
                                              const Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int64_t stated, node.Int("output_dtype", 0));
  v1::ElementType type = v1::UINT8;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId zero, builder.Input(node, 2));
    type = builder.tensor(zero).type;
  } else if (stated != 0) {
    type = stated > 0 && stated < 64
               ? ElementTypeOf(static_cast<int32_t>(stated))
               : v1::ELEMENT_TYPE_UNSPECIFIED;
  }
  if (type == v1::INT8 || type == v1::UINT8 || type == v1::INT16 ||
      type == v1::UINT16) {
    return type;
  }
  return node.Unsupported(
      absl::StrCat("quantizing to ", v1::ElementType_Name(type)),
      "int8, uint8, int16, uint16", "quantize to 8 bits");
}

}  // namespace

absl::Status ConvertQuantizeLinear(const Node& node, Builder& builder) {
  EK_RETURN_IF_ERROR(CheckNoBlocks(node));
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(x, builder.Cast(node, "float", x, v1::FLOAT32));
  EK_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", 1));
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, QuantizedType(node, builder));
  EK_ASSIGN_OR_RETURN(const bool constant, ScaleIsConstant(node, builder));
  if (!constant) return QuantizeAtRunTime(node, builder, x, type, axis);
  EK_ASSIGN_OR_RETURN(
      Quantization quantization,
      ReadQuantization(node, builder, 1, 2, axis, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.EmitAs(node, "", QuantizeOp(), {x},
                                     {type, std::move(quantization)}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertDequantizeLinear(const Node& node, Builder& builder) {
  EK_RETURN_IF_ERROR(CheckNoBlocks(node));
  EK_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", 1));
  EK_ASSIGN_OR_RETURN(const bool constant, ScaleIsConstant(node, builder));
  if (!constant) return DequantizeAtRunTime(node, builder, axis);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      DequantizedOperand(node, builder, "", 0, 1, 2, axis));
  // The scale's type is the result's.
  EK_ASSIGN_OR_RETURN(const TensorId scale, builder.Input(node, 1));
  EK_ASSIGN_OR_RETURN(
      y, builder.Cast(node, "cast", y, builder.tensor(scale).type));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertDynamicQuantizeLinear(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  std::vector<int32_t> axes;
  for (int32_t i = 0; i < builder.rank(x); ++i) axes.push_back(i);
  const TensorId nothing = builder.Scalar(node, x, 0);
  const TensorId steps = builder.Scalar(node, x, 255);
  // The range always holds 0.
  const auto bound =
      [&](absl::string_view role, v1::Reduce::Function reduce,
          v1::Binary::Function with_zero) -> absl::StatusOr<TensorId> {
    EK_ASSIGN_OR_RETURN(const TensorId extreme,
                        builder.Emit(node, absl::StrCat(role, "-value"),
                                     ReduceOp(reduce, axes, false), {x}));
    return builder.Emit(node, role, BinaryOp(with_zero), {extreme, nothing});
  };
  EK_ASSIGN_OR_RETURN(const TensorId high,
                      bound("high", v1::Reduce::MAX, v1::Binary::MAXIMUM));
  EK_ASSIGN_OR_RETURN(const TensorId low,
                      bound("low", v1::Reduce::MIN, v1::Binary::MINIMUM));
  EK_ASSIGN_OR_RETURN(
      const TensorId range,
      builder.Emit(node, "range", BinaryOp(v1::Binary::SUB), {high, low}));
  EK_ASSIGN_OR_RETURN(
      const TensorId scale,
      builder.Emit(node, "scale", BinaryOp(v1::Binary::DIV), {range, steps}));
  EK_ASSIGN_OR_RETURN(
      TensorId zero,
      builder.Emit(node, "low-steps", BinaryOp(v1::Binary::DIV), {low, scale}));
  EK_ASSIGN_OR_RETURN(
      zero, builder.Emit(node, "below-zero", BinaryOp(v1::Binary::SUB),
                         {nothing, zero}));
  v1::Clamp clamp;
  clamp.set_min(0);
  clamp.set_max(255);
  EK_ASSIGN_OR_RETURN(
      zero, builder.Emit(node, "zero-limited", ClipOp(clamp), {zero}));
  EK_ASSIGN_OR_RETURN(
      zero, builder.Emit(node, "zero", UnaryOp(v1::Unary::ROUND), {zero}));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      EmitQuantization(node, builder, x, scale, zero, v1::UINT8));
  EK_ASSIGN_OR_RETURN(const TensorId zero_point,
                      builder.Cast(node, "zero-point", zero, v1::UINT8));
  EK_RETURN_IF_ERROR(builder.Bind(node, 0, y));
  EK_RETURN_IF_ERROR(builder.Bind(node, 1, scale));
  return builder.Bind(node, 2, zero_point);
}

}  // namespace edgekiln::compiler::onnx_import
