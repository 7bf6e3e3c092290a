#ifndef EK_OPS_REQUANTIZE_H_
#define EK_OPS_REQUANTIZE_H_

#include <cstdint>

#include "edgekiln/v1/graph.pb.h"

// Integer rescaling, as docs/numerics.md defines it: one multiplication by a
// 31-bit fixed-point multiplier and ONE rounding. This equals what TensorFlow
// Lite publishes; rounding twice (gemmlowp) does not.
namespace edgekiln::ops {

// real = multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0.
// shift is in [-31, 30] and > 0 scales up.
struct FixedPointMultiplier {
  int32_t multiplier = 0;
  int32_t shift = 0;
  v1::Rounding rounding = v1::HALF_UP;  // Of products.
  bool operator==(const FixedPointMultiplier&) const = default;
};

// The closest fixed-point form of a positive real factor; 0 and factors below
// 2^-31 or so give {0, 0}. Same bits on every machine (frexp and one rounding).
FixedPointMultiplier QuantizeMultiplier(double factor,
                                        v1::Rounding rounding = v1::HALF_UP);

// Whether some whole number of at most `largest`, whatever its sign, gives a
// product in the middle between two steps: whether the rounding matters.
bool MayTie(FixedPointMultiplier factor, int64_t largest);

// product / 2^n, n in [1, 62]; sums wrap around.
inline int64_t RoundProduct(int64_t product, int n, v1::Rounding rounding) {
  if (rounding == v1::FLOOR) return product >> n;
  const auto lifted = static_cast<int64_t>(static_cast<uint64_t>(product) +
                                           (uint64_t{1} << (n - 1)));
  const int64_t result = lifted >> n;
  // In the middle the shift rounded up: to the even one, or one too far.
  const bool middle = (lifted & ((int64_t{1} << n) - 1)) == 0;
  return rounding == v1::HALF_EVEN && middle ? result & ~int64_t{1} : result;
}

// value * multiplier * 2^(shift - 31), rounded: (value * multiplier + 2^(n-1))
// >> n with n = 31 - shift, in 64 bits. HALF_EVEN: ties go to the even one;
// FLOOR: 2^(n-1) is not added.
inline int32_t Rescale(int32_t value, FixedPointMultiplier factor) {
  return static_cast<int32_t>(
      RoundProduct(static_cast<int64_t>(value) * factor.multiplier,
                   31 - factor.shift, factor.rounding));
}

// The same for sums of int16 activations: with only 15 bits of the multiplier,
// so that products stay within 64 bits; shift above 14 counts as 14.
inline int64_t RescaleWide(int64_t value, FixedPointMultiplier factor) {
  const int64_t reduced = factor.multiplier < 0x7FFF0000
                              ? (factor.multiplier + (1 << 15)) >> 16
                              : 0x7FFF;
  const int n = 15 - (factor.shift < 14 ? factor.shift : 14);
  const uint64_t product =
      static_cast<uint64_t>(value) * static_cast<uint64_t>(reduced);
  return RoundProduct(static_cast<int64_t>(product), n, factor.rounding);
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_REQUANTIZE_H_
