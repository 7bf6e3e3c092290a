#ifndef EK_OPS_FLOAT16_H_
#define EK_OPS_FLOAT16_H_

#include <bit>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ops/kernels.h"

// IEEE 754 binary16 as the bits that tensors hold.
namespace edgekiln::ops {

// Exact.
inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t size = static_cast<uint32_t>(half & 0x7fffu) << 13;
  // The exponent's bias grows from 15 to 127, that of infinity and NaN to 255.
  const uint32_t normal = size + (size < 0x0f800000u ? 112u << 23 : 224u << 23);
  // Zero and subnormals: steps of 2^-24.
  const float steps = static_cast<float>(static_cast<int32_t>(size >> 13));
  const auto small = std::bit_cast<uint32_t>(steps * 0x1p-24f);
  return std::bit_cast<float>(sign | (size < 0x00800000u ? small : normal));
}

// To the nearest, ties to even; beyond 65504 infinity; NaN stays NaN.
inline uint16_t HalfFromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t size = bits & 0x7fffffffu;
  // Below 2^-14: adding 1/2 leaves steps of 2^-24, rounded by the addition.
  const float small = std::bit_cast<float>(size) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(small) - 0x3f000000u;
  // 13 bits less and a bias of 15; a carry may reach infinity.
  const uint32_t normal =
      (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
  const uint32_t beyond = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t result = size < 0x38800000u   ? subnormal
                          : size < 0x47800000u ? normal
                                               : beyond;
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | result);
}

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
