#ifndef EK_OPS_FLOAT16_H_
#define EK_OPS_FLOAT16_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ops/kernels.h"

// IEEE 754 binary16 as the bits that tensors hold.
namespace edgekiln::ops {

// Exact.
float FloatFromHalf(uint16_t half);
// To the nearest, ties to even; beyond 65504 infinity; NaN stays NaN.
uint16_t HalfFromFloat(float value);
// The same from double: rounded once.
uint16_t HalfFromDouble(double value);

// Whether any tensor is FLOAT16.
bool HasFloat16(Inputs inputs, Outputs outputs);

// What a FLOAT16 op is: the FLOAT32 op on the same values, each result rounded
// once. `compute` sees copies that are FLOAT32 where the tensors are FLOAT16.
absl::Status ComputeInFloat(
    Inputs inputs, Outputs outputs,
    absl::FunctionRef<absl::Status(Inputs, Outputs)> compute);

}  // namespace edgekiln::ops

#endif  // EK_OPS_FLOAT16_H_
