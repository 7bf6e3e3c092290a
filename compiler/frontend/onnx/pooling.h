#ifndef EK_COMPILER_FRONTEND_ONNX_POOLING_H_
#define EK_COMPILER_FRONTEND_ONNX_POOLING_H_

#include "absl/status/statusor.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

// Pools of x [N, C, D...] in the model's layout, for the plain and the
// quantized operators.
namespace edgekiln::compiler::onnx_import {

// As the node's attributes say (kernel_shape, pads, ...).
absl::StatusOr<TensorId> EmitAveragePool(const Node& node, Builder& builder,
                                         TensorId x);
absl::StatusOr<TensorId> EmitGlobalAveragePool(const Node& node,
                                               Builder& builder, TensorId x);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_POOLING_H_
