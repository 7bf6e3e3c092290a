#ifndef EK_OPS_QUANTIZED_ARITHMETIC_H_
#define EK_OPS_QUANTIZED_ARITHMETIC_H_

#include "absl/status/status.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/kernels.h"

// The quantized forms of element-wise ops on INT8, UINT8 and INT16, as
// docs/numerics.md defines them. All tensors have one scale each.
namespace edgekiln::ops {

// binary_quantized.cc. a + sign * b.
absl::Status AddQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                          int32_t sign, Inputs inputs,
                          const MutableTensorView& output);
absl::Status MulQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                          Inputs inputs, const MutableTensorView& output);
absl::Status BinaryQuantized(const v1::Binary& op, v1::Rounding rounding,
                             Inputs inputs, const MutableTensorView& output);

// unary_quantized.cc
absl::Status ClipQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                           const TensorView& input,
                           const MutableTensorView& output);
absl::Status UnaryQuantized(const v1::Unary& op, v1::Rounding rounding,
                            const TensorView& input,
                            const MutableTensorView& output);

}  // namespace edgekiln::ops

#endif  // EK_OPS_QUANTIZED_ARITHMETIC_H_
