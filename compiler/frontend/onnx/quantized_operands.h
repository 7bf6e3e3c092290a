#ifndef EK_COMPILER_FRONTEND_ONNX_QUANTIZED_OPERANDS_H_
#define EK_COMPILER_FRONTEND_ONNX_QUANTIZED_OPERANDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

// Operands that ONNX gives as three inputs: integers, scale, zero point.
namespace edgekiln::compiler::onnx_import {

// The constants in inputs `scale` and `zero` (which may be absent) for a tensor
// of rank `rank` whose channels lie along `axis`. A channel of a constant
// (`dead`) may have a scale of 0: see ReviveDeadChannels().
absl::StatusOr<Quantization> ReadQuantization(const Node& node,
                                              const Builder& builder, int scale,
                                              int zero, int64_t axis,
                                              int64_t rank, bool dead = false);

// The real values of the integers in input `index`.
absl::StatusOr<TensorId> DequantizedOperand(const Node& node, Builder& builder,
                                            absl::string_view role, int index,
                                            int scale, int zero, int64_t axis);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_QUANTIZED_OPERANDS_H_
