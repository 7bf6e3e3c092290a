#ifndef EK_OPS_FIXED_POINT_H_
#define EK_OPS_FIXED_POINT_H_

#include <cstdint>

#include "ops/requantize.h"

// Functions of fixed-point numbers with the roundings of gemmlowp, which
// TensorFlow Lite's integer kernels compute with (docs/numerics.md, 5.3): not
// the nearest values, but everybody's. T is int16_t or int32_t; a number with m
// integer bits is raw / 2^(bits of T - 1 - m), one with none is in [-1, 1).
namespace edgekiln::ops {

// The exponent of a scale that TensorFlow Lite takes for a power of two: within
// a thousandth of a whole one. False for others.
bool IsPowerOfTwo(float scale, int& exponent);

// value limited to T.
template <typename T>
T SaturatedTo(int64_t value);

// a * b / 2^(bits of T - 1), half up, saturated: integer bits add up.
template <typename T>
T HighProduct(T a, T b);

// value / 2^n, half away from zero; n in [0, 62].
int64_t HalfAwayShift(int64_t value, int n);

// exp(x), x <= 0 with `integer_bits`; no integer bits in the result.
template <typename T>
T FixedExp(T x, int integer_bits);

// 1 / (1 + x) for x in [0, 1); none has integer bits.
template <typename T>
T FixedOneOverOnePlus(T x);

// tanh(x) and 1 / (1 + exp(-x)), x with `integer_bits`.
template <typename T>
T FixedTanh(T x, int integer_bits);
template <typename T>
T FixedSigmoid(T x, int integer_bits);

// 1 / sqrt(value), value >= 0; 1 for 0. Five Newton steps.
FixedPointMultiplier FixedInverseSqrt(int32_t value);

// 1 / value, value > 0.
FixedPointMultiplier FixedReciprocal(int32_t value);

}  // namespace edgekiln::ops

#endif  // EK_OPS_FIXED_POINT_H_
