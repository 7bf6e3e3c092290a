#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "base/status_macros.h"
#include "ops/approximated_unary.h"
#include "ops/dot_output.h"
#include "ops/element_types.h"
#include "ops/fixed_point.h"
#include "ops/quantized_arithmetic.h"
#include "ops/quantized_parameters.h"
#include "ops/real_quantizer.h"
#include "ops/unary_function.h"
#include "ops/value_table.h"

namespace edgekiln::ops {
namespace {

using U = v1::Unary;

// From one quantized value to another.
using ValueFunction = std::function<int32_t(int32_t)>;

// The scales and zero points of one input and one output.
struct Steps {
  Steps(v1::Rounding rounding, const QuantizationView& in,
        const MutableTensorView& out)
      : input_scale(in.scale[0]),
        output_scale(out.quantization.scale[0]),
        input_zero_point(in.zero_point[0]),
        output_zero_point(out.quantization.zero_point[0]),
        range(RangeOf(out.type)),
        rounding(rounding) {}

  float input_scale;
  float output_scale;
  int32_t input_zero_point;
  int32_t output_zero_point;
  QuantizedRange range;
  v1::Rounding rounding;
};

// f of the real value. HALF_EVEN: what Dequantize, f and Quantize do to floats.
// Else, of 8 bits, in float as TensorFlow Lite fills its tables.
int32_t RealResult(const U& op, const Steps& s, bool is_8_bit, int32_t q) {
  double steps = 0;
  if (s.rounding == v1::HALF_EVEN) {
    const auto x =
        static_cast<float>(double{s.input_scale} * (q - s.input_zero_point));
    const auto y = static_cast<float>(UnaryOf(op, double{x}));
    steps = std::nearbyint(y / s.output_scale);
  } else if (is_8_bit) {
    const float x = s.input_scale * static_cast<float>(q - s.input_zero_point);
    const auto y = static_cast<float>(UnaryOf(op, double{x}));
    const float inverse = 1.0f / s.output_scale;
    steps = std::round(y * inverse);
  } else {
    const double x = double{s.input_scale} * (q - s.input_zero_point);
    steps = std::round(UnaryOf(op, x) / double{s.output_scale});
  }
  return Limited(steps + s.output_zero_point, s.range);
}

// LEAKY_RELU, ABS and NEG multiply by one factor per sign of the input.
ValueFunction TwoSlopes(float below, float above, const Steps& s) {
  const auto factor = [&s](float slope) {
    const float real = s.input_scale * std::fabs(slope) / s.output_scale;
    return QuantizeMultiplier(double{real});
  };
  const FixedPointMultiplier factors[2] = {factor(above), factor(below)};
  const int32_t signs[2] = {above < 0 ? -1 : 1, below < 0 ? -1 : 1};
  return [=](int32_t q) {
    const int32_t value = q - s.input_zero_point;
    const int side = value < 0 ? 1 : 0;
    return Finish(value * signs[side], factors[side], s.output_zero_point,
                  s.range);
  };
}

// --- HARD_SWISH of 8-bit values: 16-bit fixed point, as TensorFlow Lite ---

// The upper 16 bits of a multiplier, rounded.
int16_t Upper16(FixedPointMultiplier factor) {
  return SaturatedTo<int16_t>((int64_t{factor.multiplier} + (1 << 15)) >> 16);
}

struct HardSwishFactors {
  FixedPointMultiplier output;  // Of the input, times 2^7.
  FixedPointMultiplier relu;    // The same to a scale where 3.0 is 2^15.
};

HardSwishFactors HardSwishFactorsOf(const Steps& s) {
  const float fine_scale = (1.0f / 128.0f) * s.input_scale;
  const float relu_scale = 3.0f / 32768.0f;
  return {QuantizeMultiplier(double{fine_scale / s.output_scale}),
          QuantizeMultiplier(double{fine_scale / relu_scale})};
}

int32_t HardSwishResult(const HardSwishFactors& f, const Steps& s, int32_t q) {
  const auto fine = static_cast<int16_t>((q - s.input_zero_point) * 128);
  const int32_t scaled = HighProduct(fine, Upper16(f.output));
  const int shift = f.relu.shift;
  int16_t relu = fine;
  if (shift > 0) relu = SaturatedTo<int16_t>(int64_t{relu} << (shift - 1));
  relu = HighProduct(relu, Upper16(f.relu));
  if (shift > 0) relu = SaturatedTo<int16_t>(int64_t{relu} * 2);
  if (shift < 0) relu = static_cast<int16_t>(HalfAwayShift(relu, -shift));
  const int32_t unit = (relu + (1 << 15)) >> 1;  // From [-1, 1] to [0, 1].
  const int64_t product = unit * scaled / (1 << 15);
  return static_cast<int32_t>(std::clamp<int64_t>(
      HalfAwayShift(product, -f.output.shift) + s.output_zero_point,
      s.range.min, s.range.max));
}

ValueFunction FunctionOf(const U& op, const Steps& s, bool is_8_bit) {
  const ValueFunction of_real = [&op, s, is_8_bit](int32_t q) {
    return RealResult(op, s, is_8_bit, q);
  };
  // What HALF_EVEN stands for computes in floats, whose roundings make ties of
  // what is none: 5 steps times 0.1f.
  if (s.rounding == v1::HALF_EVEN) return of_real;
  switch (op.function()) {
    case U::LEAKY_RELU:
      return TwoSlopes(op.alpha(), 1, s);
    case U::ABS:
      return TwoSlopes(-1, 1, s);
    case U::NEG:
      return TwoSlopes(-1, -1, s);
    case U::HARD_SWISH: {
      const HardSwishFactors factors = HardSwishFactorsOf(s);
      if (!is_8_bit || factors.output.shift > 0) return of_real;
      return [=](int32_t q) { return HardSwishResult(factors, s, q); };
    }
    default:
      return of_real;
  }
}

template <typename T, typename F>
void Map(const TensorView& input, const MutableTensorView& output, const F& f) {
  const auto table = MakeValueTable<T>(f);
  const T* x = input.as<T>();
  T* y = output.as<T>();
  const int64_t elements = NumElements(output.shape);
  for (int64_t i = 0; i < elements; ++i) y[i] = static_cast<T>(table(x[i]));
}

}  // namespace

absl::Status ClipQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                           const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale(clamp, rounding, input.quantization,
                                    output.quantization, output.type));
  return WithQuantizedType(output.type, [&](auto type) {
    using T = decltype(type);
    Map<T>(input, output, [&p](int32_t q) {
      return p.identity ? std::clamp(q, p.clamp.min, p.clamp.max)
                        : Finish(q - p.input_zero_point, p.multiplier,
                                 p.output_zero_point, p.clamp);
    });
    return absl::OkStatus();
  });
}

absl::Status UnaryQuantized(const v1::Unary& op, v1::Rounding rounding,
                            const TensorView& input,
                            const MutableTensorView& output) {
  const Steps steps(rounding, input.quantization, output);
  ValueFunction f;
  if (rounding == v1::HALF_UP) f = ApproximatedUnary(op, input, output);
  return WithQuantizedType(output.type, [&](auto type) {
    using T = decltype(type);
    if (!f) f = FunctionOf(op, steps, sizeof(T) == 1);
    Map<T>(input, output, f);
    return absl::OkStatus();
  });
}

}  // namespace edgekiln::ops
