// Functions of one value or two that are more than an entry of a table.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::Status ConvertFunction(const Node& node, Builder& builder,
                             v1::OpAttributes attributes, int inputs) {
  std::vector<TensorId> ids;
  for (int i = 0; i < inputs; ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId id, builder.PlainInput(node, i));
    ids.push_back(id);
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", std::move(attributes), std::move(ids)));
  return builder.Bind(node, 0, y);
}

}  // namespace

absl::Status ConvertIsNan(const Node& node, Builder& builder) {
  return ConvertFunction(node, builder, UnaryOp(v1::Unary::IS_NAN), 1);
}

absl::Status ConvertIsInf(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const bool positive, node.Flag("detect_positive", true));
  EK_ASSIGN_OR_RETURN(const bool negative, node.Flag("detect_negative", true));
  return ConvertFunction(node, builder,
                         UnaryOp(v1::Unary::IS_INF, positive ? 1.0f : 0.0f,
                                 negative ? 1.0f : 0.0f),
                         1);
}

// x > alpha ? x : 0, where the IR's function, that of recurrent cells, also
// keeps alpha itself: the next float is its bound.
absl::Status ConvertThresholdedRelu(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  const float bound =
      std::nextafter(alpha, std::numeric_limits<float>::infinity());
  return ConvertFunction(node, builder,
                         UnaryOp(v1::Unary::THRESHOLDED_RELU, bound), 1);
}

// x * tanh(log(1 + e^x))
absl::Status ConvertMish(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(
      TensorId y,
      builder.Emit(node, "softplus", UnaryOp(v1::Unary::SOFTPLUS), {x}));
  EK_ASSIGN_OR_RETURN(
      y, builder.Emit(node, "tanh", UnaryOp(v1::Unary::TANH), {y}));
  EK_ASSIGN_OR_RETURN(y, builder.Emit(node, "", MulOp(), {x, y}));
  return builder.Bind(node, 0, y);
}

// The remainder has the sign of the divisor, with fmod that of the dividend.
absl::Status ConvertMod(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const bool truncates, node.Flag("fmod", false));
  return ConvertFunction(
      node, builder,
      BinaryOp(truncates ? v1::Binary::TRUNC_MOD : v1::Binary::FLOOR_MOD), 2);
}

absl::Status ConvertBitShift(const Node& node, Builder& builder) {
  if (!node.Has("direction")) return node.Invalid("no direction");
  EK_ASSIGN_OR_RETURN(
      const int direction,
      WordAttribute(node, "direction", "LEFT", {"LEFT", "RIGHT"}));
  return ConvertFunction(node, builder,
                         BinaryOp(direction == 0 ? v1::Binary::SHIFT_LEFT
                                                 : v1::Binary::SHIFT_RIGHT),
                         2);
}

}  // namespace edgekiln::compiler::onnx_import
