#ifndef EK_COMPILER_FRONTEND_ONNX_IR_OPS_H_
#define EK_COMPILER_FRONTEND_ONNX_IR_OPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"

// Attributes of the IR ops that converters put together, in one expression
// each. Axes are non-negative.
namespace edgekiln::compiler::onnx_import {

v1::OpAttributes AddOp();
v1::OpAttributes MulOp();
v1::OpAttributes UnaryOp(v1::Unary::Function function, float alpha = 0,
                         float beta = 0);
v1::OpAttributes BinaryOp(v1::Binary::Function function);
v1::OpAttributes ClipOp(v1::Clamp clamp);
v1::OpAttributes SelectOp();
v1::OpAttributes CastOp();
v1::OpAttributes MatMulOp();
v1::OpAttributes DequantizeOp();
v1::OpAttributes QuantizeOp();  // Rounds as ONNX does.
v1::OpAttributes ConcatOp(int32_t axis);
v1::OpAttributes ReduceOp(v1::Reduce::Function function,
                          absl::Span<const int32_t> axes, bool keep_dims);
v1::OpAttributes MeanOp(absl::Span<const int32_t> axes, bool keep_dims);
v1::OpAttributes SliceOp(absl::Span<const int64_t> begin,
                         absl::Span<const int64_t> extent,
                         absl::Span<const int64_t> stride);
v1::OpAttributes BroadcastOp(absl::Span<const int64_t> shape);
v1::OpAttributes PadOp(absl::Span<const int64_t> before,
                       absl::Span<const int64_t> after);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_IR_OPS_H_
