// Integers with and without the meaning that a scale and a zero point give
// them.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/dead_channels.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

bool SameMeaning(const std::optional<Quantization>& a, const Quantization& b) {
  return a.has_value() && a->scale == b.scale &&
         a->zero_point == b.zero_point &&
         (!b.per_channel() || a->axis == b.axis);
}

// Scales and zero points as float constants that broadcast over `rank`
// dimensions.
Tensor ScaleConstant(const Quantization& q, int64_t rank) {
  std::vector<int64_t> shape;
  if (q.per_channel()) {
    shape.assign(static_cast<size_t>(rank), 1);
    shape[q.axis] = static_cast<int64_t>(q.scale.size());
  }
  return FloatConstant("scale", std::move(shape), q.scale);
}

Tensor ZeroConstant(const Quantization& q, int64_t rank) {
  Tensor scale = ScaleConstant(q, rank);
  const std::vector<float> zero(q.zero_point.begin(), q.zero_point.end());
  return FloatConstant("zero", std::move(scale.shape), zero);
}

}  // namespace

absl::StatusOr<TensorId> Builder::Unquantized(const Node& node,
                                              absl::string_view role,
                                              TensorId x) {
  if (!tensor(x).quantization) return x;
  if (tensor(x).is_constant()) {
    Tensor bare = tensor(x);
    bare.quantization.reset();
    return AddConstant(std::move(bare));
  }
  // Dividing by the scale again and rounding gives back every integer.
  const Quantization q = *tensor(x).quantization;
  const v1::ElementType type = tensor(x).type;
  const auto name = [role](absl::string_view step) {
    return absl::StrCat(role, "-", step);
  };
  const TensorId scale = AddConstant(ScaleConstant(q, rank(x)));
  const TensorId zero = AddConstant(ZeroConstant(q, rank(x)));
  EK_ASSIGN_OR_RETURN(x, Emit(node, name("real"), DequantizeOp(), {x}));
  EK_ASSIGN_OR_RETURN(
      x, Emit(node, name("steps"), BinaryOp(v1::Binary::DIV), {x, scale}));
  EK_ASSIGN_OR_RETURN(
      x, Emit(node, name("whole"), UnaryOp(v1::Unary::ROUND), {x}));
  EK_ASSIGN_OR_RETURN(
      x, Emit(node, name("from-zero"), onnx_import::AddOp(), {x, zero}));
  return Cast(node, role, x, type);
}

absl::StatusOr<TensorId> Builder::Quantized(const Node& node,
                                            absl::string_view role, TensorId x,
                                            const Quantization& wanted) {
  if (SameMeaning(tensor(x).quantization, wanted)) return x;
  Tensor quantized = tensor(x);
  quantized.quantization = wanted;
  ReviveDeadChannels(quantized);
  const absl::Status fits = ops::CheckTensorType(ViewOf(quantized));
  if (!fits.ok()) return node.Invalid(fits);
  if (quantized.is_constant()) {
    return AddConstant(std::move(quantized));
  }
  if (producer_[x] < 0 && !read_[x] && !tensor(x).quantization) {
    graph_.tensors[x].quantization = wanted;  // A graph input.
    return x;
  }
  const v1::ElementType type = tensor(x).type;
  const auto name = [role](absl::string_view step) {
    return absl::StrCat(role, "-", step);
  };
  EK_ASSIGN_OR_RETURN(x, Unquantized(node, name("bare"), x));
  EK_ASSIGN_OR_RETURN(x, Cast(node, name("float"), x, v1::FLOAT32));
  const TensorId scale = AddConstant(ScaleConstant(wanted, rank(x)));
  const TensorId zero = AddConstant(ZeroConstant(wanted, rank(x)));
  EK_ASSIGN_OR_RETURN(
      x, Emit(node, name("steps"), BinaryOp(v1::Binary::SUB), {x, zero}));
  EK_ASSIGN_OR_RETURN(x, Emit(node, name("real"), MulOp(), {x, scale}));
  return EmitAs(node, role, QuantizeOp(), {x}, {type, wanted});
}

}  // namespace edgekiln::compiler::onnx_import
