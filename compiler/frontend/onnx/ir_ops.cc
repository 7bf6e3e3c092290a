#include "compiler/frontend/onnx/ir_ops.h"

#include <utility>

namespace edgekiln::compiler::onnx_import {

v1::OpAttributes AddOp() {
  v1::OpAttributes op;
  op.mutable_add();
  return op;
}

v1::OpAttributes MulOp() {
  v1::OpAttributes op;
  op.mutable_mul();
  return op;
}

v1::OpAttributes UnaryOp(v1::Unary::Function function, float alpha,
                         float beta) {
  v1::OpAttributes op;
  op.mutable_unary()->set_function(function);
  op.mutable_unary()->set_alpha(alpha);
  op.mutable_unary()->set_beta(beta);
  return op;
}

v1::OpAttributes BinaryOp(v1::Binary::Function function) {
  v1::OpAttributes op;
  op.mutable_binary()->set_function(function);
  return op;
}

v1::OpAttributes ClipOp(v1::Clamp clamp) {
  v1::OpAttributes op;
  *op.mutable_clip()->mutable_clamp() = std::move(clamp);
  return op;
}

v1::OpAttributes SelectOp() {
  v1::OpAttributes op;
  op.mutable_select();
  return op;
}

v1::OpAttributes CastOp() {
  v1::OpAttributes op;
  op.mutable_cast();
  return op;
}

v1::OpAttributes MatMulOp() {
  v1::OpAttributes op;
  op.mutable_mat_mul();
  return op;
}

v1::OpAttributes DequantizeOp() {
  v1::OpAttributes op;
  op.mutable_dequantize();
  return op;
}

v1::OpAttributes QuantizeOp() {
  v1::OpAttributes op;
  op.mutable_quantize();
  op.set_rounding(v1::HALF_EVEN);
  return op;
}

v1::OpAttributes ConcatOp(int32_t axis) {
  v1::OpAttributes op;
  op.mutable_concat()->set_axis(axis);
  return op;
}

v1::OpAttributes ReduceOp(v1::Reduce::Function function,
                          absl::Span<const int32_t> axes, bool keep_dims) {
  v1::OpAttributes op;
  op.mutable_reduce()->set_function(function);
  op.mutable_reduce()->mutable_axes()->Assign(axes.begin(), axes.end());
  op.mutable_reduce()->set_keep_dims(keep_dims);
  return op;
}

v1::OpAttributes MeanOp(absl::Span<const int32_t> axes, bool keep_dims) {
  v1::OpAttributes op;
  op.mutable_reduce_mean()->mutable_axes()->Assign(axes.begin(), axes.end());
  op.mutable_reduce_mean()->set_keep_dims(keep_dims);
  return op;
}

v1::OpAttributes SliceOp(absl::Span<const int64_t> begin,
                         absl::Span<const int64_t> extent,
                         absl::Span<const int64_t> stride) {
  v1::OpAttributes op;
  op.mutable_slice()->mutable_begin()->Assign(begin.begin(), begin.end());
  op.mutable_slice()->mutable_extent()->Assign(extent.begin(), extent.end());
  op.mutable_slice()->mutable_stride()->Assign(stride.begin(), stride.end());
  return op;
}

v1::OpAttributes BroadcastOp(absl::Span<const int64_t> shape) {
  v1::OpAttributes op;
  op.mutable_broadcast_to()->mutable_shape()->Assign(shape.begin(),
                                                     shape.end());
  return op;
}

v1::OpAttributes PadOp(absl::Span<const int64_t> before,
                       absl::Span<const int64_t> after) {
  v1::OpAttributes op;
  op.mutable_pad()->mutable_before()->Assign(before.begin(), before.end());
  op.mutable_pad()->mutable_after()->Assign(after.begin(), after.end());
  return op;
}

}  // namespace edgekiln::compiler::onnx_import
