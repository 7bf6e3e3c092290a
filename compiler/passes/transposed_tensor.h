#ifndef EK_COMPILER_PASSES_TRANSPOSED_TENSOR_H_
#define EK_COMPILER_PASSES_TRANSPOSED_TENSOR_H_

#include <cstdint>

#include "absl/types/span.h"
#include "compiler/ir/constant_pool.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// A constant with its dimensions permuted, its quantization axis with them:
// dimension i of the result is dimension permutation[i] of `constant`, whose
// data may be borrowed.
Tensor TransposedTensor(const Tensor& constant,
                        absl::Span<const int32_t> permutation,
                        ConstantPool& pool);
Tensor TransposedTensor(const Tensor& constant,
                        absl::Span<const int32_t> permutation);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_TRANSPOSED_TENSOR_H_
