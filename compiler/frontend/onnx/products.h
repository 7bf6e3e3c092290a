#ifndef EK_COMPILER_FRONTEND_ONNX_PRODUCTS_H_
#define EK_COMPILER_FRONTEND_ONNX_PRODUCTS_H_

#include "absl/status/statusor.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

namespace edgekiln::compiler::onnx_import {

// The convolution that a node's attributes describe (group, pads, ...), of x
// [N, C, D...], w [O, C/G, K...] and bias [O] or kNoTensor, in the model's
// layout. For Conv and whatever is one in disguise.
absl::StatusOr<TensorId> EmitConv(const Node& node, Builder& builder,
                                  TensorId x, TensorId w, TensorId bias);

// The matrix product of numpy, vectors included.
absl::StatusOr<TensorId> EmitMatMul(const Node& node, Builder& builder,
                                    TensorId a, TensorId b);

// alpha * A * B + C with the node's alpha, transA and transB. C may be
// kNoTensor.
absl::StatusOr<TensorId> EmitGemm(const Node& node, Builder& builder,
                                  TensorId a, TensorId b, TensorId c);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_PRODUCTS_H_
