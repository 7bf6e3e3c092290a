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

// The same for sums of int16 activations: with only 15 bits of the multiplier,
// so that products stay within 64 bits; shift above 14 counts as 14.
inline int64_t RescaleWide(int64_t value, FixedPointMultiplier factor) {
  const int64_t reduced = factor.multiplier < 0x7FFF0000
                              ? (factor.multiplier + (1 << 15)) >> 16
                              : 0x7FFF;
  const int n = 15 - (factor.shift < 14 ? factor.shift : 14);
  const uint64_t product =
      static_cast<uint64_t>(value) * static_cast<uint64_t>(reduced) +
      (uint64_t{1} << (n - 1));
  return static_cast<int64_t>(product) >> n;
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_REQUANTIZE_H_
