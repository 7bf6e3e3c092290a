#ifndef EK_OPS_REQUANTIZE_H_
#define EK_OPS_REQUANTIZE_H_

#include <cstdint>

// Integer rescaling, as docs/numerics.md defines it: one multiplication by a
// 31-bit fixed-point multiplier and ONE rounding. This equals what TensorFlow
// Lite publishes; rounding twice (gemmlowp) does not.
namespace edgekiln::ops {

// real = multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0.
// shift is in [-31, 30] and > 0 scales up.
struct FixedPointMultiplier {
  int32_t multiplier = 0;
  int32_t shift = 0;
  bool operator==(const FixedPointMultiplier&) const = default;
};

// The closest fixed-point form of a positive real factor; 0 and factors below
// 2^-31 or so give {0, 0}. Same bits on every machine (frexp and one rounding).
FixedPointMultiplier QuantizeMultiplier(double factor);

// round_half_up(value * multiplier * 2^(shift - 31)), that is
// (value * multiplier + 2^(n-1)) >> n with n = 31 - shift, in 64 bits.
inline int32_t Rescale(int32_t value, FixedPointMultiplier factor) {
  const int n = 31 - factor.shift;
  const int64_t product = static_cast<int64_t>(value) * factor.multiplier;
  return static_cast<int32_t>((product + (int64_t{1} << (n - 1))) >> n);
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_REQUANTIZE_H_
