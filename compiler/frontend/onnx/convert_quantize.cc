// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/quantized_operands.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// How scales and zero points lie on x.
struct Layout {
  int64_t axis = 1;   // As the node says.
  int64_t block = 0;  // Elements along the axis that share a scale; 0: all of
                      // them, or each has its own.
};

absl::StatusOr<Layout> ReadLayout(const Node& node) {
  Layout layout;
  EK_ASSIGN_OR_RETURN(layout.axis, node.Int("axis", 1));
  EK_ASSIGN_OR_RETURN(layout.block, node.Int("block_size", 0));
  if (layout.block >= 0) return layout;
  return node.Invalid(absl::StrCat("blocks of ", layout.block, " elements"));
}

// An element type to quantize to, and the values it may take.
struct Steps {
  v1::ElementType type;
  double lowest, highest;
};

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

// `p`, with one entry per block of x, as one with an entry per element of x.
absl::StatusOr<TensorId> SpreadBlocks(const Node& node, Builder& builder,
                                      int index, TensorId p, TensorId x,
                                      const Layout& layout) {
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      CheckedAxis(node, layout.axis, builder.rank(x)));
  const std::vector<int64_t> whole = builder.shape(x);
  const int64_t extent = whole[axis];
  const int64_t block = std::clamp<int64_t>(extent, 1, layout.block);
  std::vector<int64_t> want = whole;
  want[axis] = extent / block + (extent % block == 0 ? 0 : 1);
  if (builder.shape(p) != want) {
    return node.Invalid(absl::StrCat("input ", index, " has shape [",
                                     absl::StrJoin(builder.shape(p), ","),
                                     "], blocks of ", layout.block, " need [",
                                     absl::StrJoin(want, ","), "]"));
  }
  int64_t outer = 1, inner = 1;
  for (int32_t i = 0; i < axis; ++i) outer *= whole[i];
  for (int64_t i = axis + 1; i < std::ssize(whole); ++i) inner *= whole[i];
  const auto role = [index](absl::string_view step) {
    return absl::StrCat(step, "-", index);
  };
  const int64_t blocks = want[axis];
  EK_ASSIGN_OR_RETURN(
      p, builder.Reshape(node, role("blocks"), p, {outer, blocks, 1, inner}));
  EK_ASSIGN_OR_RETURN(p, builder.BroadcastTo(node, role("spread"), p,
                                             {outer, blocks, block, inner}));
  EK_ASSIGN_OR_RETURN(p, builder.Reshape(node, role("joined"), p,
                                         {outer, blocks * block, inner}));
  if (blocks * block != extent) {  // The last block is a shorter one.
    EK_ASSIGN_OR_RETURN(
        p, builder.Emit(node, role("cut"),
                        SliceOp({0, 0, 0}, {outer, extent, inner}, {1, 1, 1}),
                        {p}));
  }
  return builder.Reshape(node, role("elements"), p, whole);
}

// A scale or zero point as float, in a shape that broadcasts over x.
absl::StatusOr<TensorId> RuntimeParameter(const Node& node, Builder& builder,
                                          int index, TensorId x,
                                          const Layout& layout) {
  EK_ASSIGN_OR_RETURN(TensorId p, builder.PlainInput(node, index));
  EK_ASSIGN_OR_RETURN(
      p, builder.Cast(node, absl::StrCat("float-", index), p, v1::FLOAT32));
  if (layout.block > 0) {
    return SpreadBlocks(node, builder, index, p, x, layout);
  }
  std::vector<int64_t> shape;
  if (builder.tensor(p).num_elements() != 1) {
    EK_ASSIGN_OR_RETURN(const int32_t axis,
                        CheckedAxis(node, layout.axis, builder.rank(x)));
    shape.assign(static_cast<size_t>(builder.rank(x)), 1);
    shape[axis] = builder.tensor(p).num_elements();
  }
  return builder.Reshape(node, absl::StrCat("channels-", index), p,
                         std::move(shape));
}

// round(x / scale) + zero, saturated, as bare integers.
absl::StatusOr<TensorId> EmitQuantization(const Node& node, Builder& builder,
                                          TensorId x, TensorId scale,
                                          TensorId zero, const Steps& steps) {
  EK_ASSIGN_OR_RETURN(
      x, builder.Emit(node, "steps", BinaryOp(v1::Binary::DIV), {x, scale}));
  EK_ASSIGN_OR_RETURN(
      x, builder.Emit(node, "whole", UnaryOp(v1::Unary::ROUND), {x}));
  if (zero != kNoTensor) {
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "from-zero", AddOp(), {x, zero}));
  }
  v1::Clamp clamp;
  clamp.set_min(static_cast<float>(steps.lowest));
  clamp.set_max(static_cast<float>(steps.highest));
  EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "saturated", ClipOp(clamp), {x}));
  return builder.Cast(node, "integers", x, steps.type);
}

absl::Status QuantizeAtRunTime(const Node& node, Builder& builder, TensorId x,
                               const Steps& steps, const Layout& layout) {
  EK_ASSIGN_OR_RETURN(const TensorId scale,
                      RuntimeParameter(node, builder, 1, x, layout));
  TensorId zero = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(zero, RuntimeParameter(node, builder, 2, x, layout));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      EmitQuantization(node, builder, x, scale, zero, steps));
  return builder.Bind(node, 0, y);
}

absl::Status DequantizeAtRunTime(const Node& node, Builder& builder,
                                 const Layout& layout) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(x, builder.Cast(node, "float", x, v1::FLOAT32));
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId zero,
                        RuntimeParameter(node, builder, 2, x, layout));
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "centered",
                                        BinaryOp(v1::Binary::SUB), {x, zero}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId scale,
                      RuntimeParameter(node, builder, 1, x, layout));
  EK_ASSIGN_OR_RETURN(TensorId y, builder.Emit(node, "", MulOp(), {x, scale}));
  // The scale's type is the result's.
  EK_ASSIGN_OR_RETURN(const TensorId stated, builder.Input(node, 1));
  EK_ASSIGN_OR_RETURN(
      y, builder.Cast(node, "cast", y, builder.tensor(stated).type));
  return builder.Bind(node, 0, y);
}

// What QuantizeLinear gives.
absl::StatusOr<Steps> StepsOf(const Node& node, const Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int64_t stated, node.Int("output_dtype", 0));
  int32_t onnx_type =
      stated >= 0 && stated < 64 ? static_cast<int32_t>(stated) : -1;
  bool four_bit = IsFourBit(onnx_type);
  v1::ElementType type = v1::UINT8;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId zero, builder.Input(node, 2));
    type = builder.tensor(zero).type;
    four_bit = builder.IsFourBit(zero);
  } else if (four_bit) {
    type = DecodedTypeOf(onnx_type);
  } else if (onnx_type != 0) {
    type = ElementTypeOf(onnx_type);
  }
  switch (type) {
    case v1::INT8:
      return four_bit ? Steps{type, -8, 7} : Steps{type, -128, 127};
    case v1::UINT8:
      return four_bit ? Steps{type, 0, 15} : Steps{type, 0, 255};
    case v1::INT16:
      return Steps{type, -32768, 32767};
    case v1::UINT16:
      return Steps{type, 0, 65535};
    default:
      return node.Unsupported(
          absl::StrCat("quantizing to ", type == v1::ELEMENT_TYPE_UNSPECIFIED
                                             ? OnnxTypeName(onnx_type)
                                             : v1::ElementType_Name(type)),
          "int4, uint4, int8, uint8, int16, uint16", "quantize to 8 bits");
  }
}

}  // namespace

absl::Status ConvertQuantizeLinear(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(node));
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(x, builder.Cast(node, "float", x, v1::FLOAT32));
  EK_ASSIGN_OR_RETURN(const Steps steps, StepsOf(node, builder));
  EK_ASSIGN_OR_RETURN(const bool constant, ScaleIsConstant(node, builder));
  // The IR has neither blocks nor types of 4 bits.
  const bool four_bit = steps.highest < 127;
  if (!constant || layout.block > 0 || four_bit) {
    return QuantizeAtRunTime(node, builder, x, steps, layout);
  }
  EK_ASSIGN_OR_RETURN(
      Quantization quantization,
      ReadQuantization(node, builder, 1, 2, layout.axis, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.EmitAs(node, "", QuantizeOp(), {x},
                                     {steps.type, std::move(quantization)}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertDequantizeLinear(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(node));
  EK_ASSIGN_OR_RETURN(const bool constant, ScaleIsConstant(node, builder));
  if (!constant || layout.block > 0) {
    return DequantizeAtRunTime(node, builder, layout);
  }
  EK_ASSIGN_OR_RETURN(
      TensorId y, DequantizedOperand(node, builder, "", 0, 1, 2, layout.axis));
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
      EmitQuantization(node, builder, x, scale, zero, {v1::UINT8, 0, 255}));
  EK_ASSIGN_OR_RETURN(const TensorId zero_point,
                      builder.Cast(node, "zero-point", zero, v1::UINT8));
  EK_RETURN_IF_ERROR(builder.Bind(node, 0, y));
  EK_RETURN_IF_ERROR(builder.Bind(node, 1, scale));
  return builder.Bind(node, 2, zero_point);
}

}  // namespace edgekiln::compiler::onnx_import
