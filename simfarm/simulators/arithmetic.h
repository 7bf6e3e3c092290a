#ifndef EK_SIMFARM_SIMULATORS_ARITHMETIC_H_
#define EK_SIMFARM_SIMULATORS_ARITHMETIC_H_

// Fixed-point arithmetic as engines have it, from their pages in docs/targets.
// Additions of 32-bit values wrap: they are done unsigned.

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace edgekiln::simfarm {

// rescale(v, M, s) with n = 31 - s, 1 <= n <= 62.
inline int32_t Rescale(int32_t value, int32_t multiplier, int n,
                       bool half_even) {
  const int64_t product = static_cast<int64_t>(value) * multiplier;
  int64_t half = int64_t{1} << (n - 1);
  // One less than the half if the quotient is even: ties then round down.
  if (half_even) half -= 1 - (product >> n & 1);
  return static_cast<int32_t>((product + half) >> n);
}

inline int32_t WrapAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) +
                              static_cast<uint32_t>(b));
}

inline int32_t LoadInt32(const uint8_t* bytes) {
  int32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

inline void StoreInt32(int32_t value, uint8_t* bytes) {
  std::memcpy(bytes, &value, sizeof(value));
}

inline int32_t LoadInt8(const uint8_t* byte) {
  return static_cast<int8_t>(*byte);
}

// The last step of every int8 result: zero point and limits. The sum does not
// wrap.
struct OutputLimits {
  int32_t zero_point = 0;
  int32_t min = -128;
  int32_t max = 127;

  uint8_t Apply(int32_t value) const {
    // Same as limiting value + zero_point, without leaving 32 bits.
    const int32_t limited =
        std::clamp(value, min - zero_point, max - zero_point);
    return static_cast<uint8_t>(limited + zero_point);
  }
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_ARITHMETIC_H_
