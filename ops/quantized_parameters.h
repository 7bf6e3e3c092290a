#ifndef EK_OPS_QUANTIZED_PARAMETERS_H_
#define EK_OPS_QUANTIZED_PARAMETERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/requantize.h"
#include "ops/tensor_view.h"

// The integers that a quantized op computes with, derived from scales and zero
// points in one place, so that the reference kernels and every engine's code
// generator use the same ones (docs/numerics.md). Same bits on every machine.
//
// `rounding` is that of every multiplier. All functions return INVALID_ARGUMENT
// if a quantization is missing or has the wrong arity. Thread-safe: pure
// functions.
namespace edgekiln::ops {

// Limits of a quantized result, inclusive, in units of the output tensor:
// the element type's range narrowed by the fused clamp.
struct QuantizedRange {
  int32_t min = 0;
  int32_t max = 0;
  bool operator==(const QuantizedRange&) const = default;
};

// Bounds of an integer element type; {0, 0} for others.
QuantizedRange RangeOf(v1::ElementType type);

// zero_point + round(bound / scale) in float, for each bound present; HALF_UP
// rounds half away from zero.
QuantizedRange ClampRange(const v1::Clamp& clamp, v1::Rounding rounding,
                          const QuantizationView& output, v1::ElementType type);

// Convolution, depthwise convolution, fully connected, matmul:
//   acc = bias[o] + sum (x - input_zero_point) * (w - weight_zero_point)
//   y = clamp(Rescale(acc, multiplier[o]) + output_zero_point)
struct QuantizedDotParameters {
  int32_t input_zero_point = 0;
  int32_t weight_zero_point = 0;  // Always 0 for int8 weights.
  int32_t output_zero_point = 0;
  std::vector<FixedPointMultiplier> multiplier;  // One per output channel.
  QuantizedRange clamp;
};
// `channels` multipliers even if the weights are quantized per tensor.
absl::StatusOr<QuantizedDotParameters> DotParameters(
    const v1::Clamp& clamp, v1::Rounding rounding,
    const QuantizationView& input, const QuantizationView& weights,
    const QuantizationView& output, v1::ElementType output_type,
    int64_t channels);

// The same ops with an int32 output, which is `acc` itself: no multipliers, and
// neither an output zero point nor a clamp.
absl::StatusOr<QuantizedDotParameters> AccumulatorParameters(
    const QuantizationView& input, const QuantizationView& weights,
    int64_t channels);
// The scales of `acc`, as many as the weights have: input.scale *
// weights.scale[o] as float.
std::vector<float> AccumulatorScales(const QuantizationView& input,
                                     const QuantizationView& weights);

// What is left to be done with `acc`, of an op that has been checked:
// `channels` multipliers even if it has one.
absl::StatusOr<QuantizedDotParameters> RequantizeParameters(
    const v1::Requantize& op, v1::Rounding rounding,
    const QuantizationView& output, v1::ElementType output_type,
    int64_t channels);

// Addition:
//   a' = Rescale((a - zero_point[0]) << left_shift, multiplier[0]), b' alike
//   y = clamp(Rescale(a' + b', output_multiplier) + output_zero_point)
struct QuantizedAddParameters {
  int32_t left_shift = 20;
  int32_t zero_point[2] = {0, 0};
  FixedPointMultiplier multiplier[2];
  FixedPointMultiplier output_multiplier;
  int32_t output_zero_point = 0;
  QuantizedRange clamp;
};
absl::StatusOr<QuantizedAddParameters> AddParameters(
    const v1::Clamp& clamp, v1::Rounding rounding, const QuantizationView& a,
    const QuantizationView& b, const QuantizationView& output,
    v1::ElementType output_type);

// Multiplication:
//   y = clamp(Rescale((a - zero_point[0]) * (b - zero_point[1]), multiplier)
//             + output_zero_point)
struct QuantizedMulParameters {
  int32_t zero_point[2] = {0, 0};
  FixedPointMultiplier multiplier;
  int32_t output_zero_point = 0;
  QuantizedRange clamp;
};
absl::StatusOr<QuantizedMulParameters> MulParameters(
    const v1::Clamp& clamp, v1::Rounding rounding, const QuantizationView& a,
    const QuantizationView& b, const QuantizationView& output,
    v1::ElementType output_type);

// Change of scale (Quantize of a quantized tensor, Clip, Concat, ReduceMean):
//   y = clamp(Rescale(x - input_zero_point, multiplier) + output_zero_point)
// `identity` says that both quantizations are equal: values pass unchanged
// before the clamp.
struct RescaleParameters {
  bool identity = false;
  int32_t input_zero_point = 0;
  FixedPointMultiplier multiplier;
  int32_t output_zero_point = 0;
  QuantizedRange clamp;
};
absl::StatusOr<RescaleParameters> ChangeOfScale(const v1::Clamp& clamp,
                                                v1::Rounding rounding,
                                                const QuantizationView& input,
                                                const QuantizationView& output,
                                                v1::ElementType output_type);

// Average of `count` > 0 quantized values that sum to `sum`: rounded half away
// from zero. In and out share one quantization.
template <typename T>
T RoundedAverage(T sum, T count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

// The same rounded half to even. Sums below 2^62.
inline int64_t AverageHalfEven(int64_t sum, int64_t count) {
  // Downwards: of the remainder a negative one borrows.
  const int64_t down = sum / count - (sum % count < 0 ? 1 : 0);
  const int64_t twice = 2 * (sum - down * count);
  return twice > count || (twice == count && down % 2 != 0) ? down + 1 : down;
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_QUANTIZED_PARAMETERS_H_
