#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/broadcast.h"
#include "ops/dot_output.h"
#include "ops/element_types.h"
#include "ops/fixed_point.h"
#include "ops/quantized_arithmetic.h"
#include "ops/quantized_parameters.h"
#include "ops/value_table.h"

namespace edgekiln::ops {
namespace {

using B = v1::Binary;

template <typename T, typename Out, typename F>
void Apply(Inputs inputs, const MutableTensorView& output, const F& f) {
  ApplyBroadcast(inputs[0].as<T>(), inputs[0].shape, inputs[1].as<T>(),
                 inputs[1].shape, output.as<Out>(), output.shape, f);
}

// f(A, B) of values that `a` and `b` give for the operands.
template <typename T, typename Out, typename MapA, typename MapB, typename F>
void ApplyMapped(Inputs inputs, const MutableTensorView& output, const MapA& a,
                 const MapB& b, const F& f) {
  const auto table_a = MakeValueTable<T>(a);
  const auto table_b = MakeValueTable<T>(b);
  Apply<T, Out>(inputs, output, [&](T x, T y) {
    return static_cast<Out>(f(table_a(x), table_b(y)));
  });
}

// A / B in fixed point, as TensorFlow Lite: by the reciprocal of B, A as large
// as it can be.
template <typename T>
absl::Status Divide(const B& op, Inputs inputs,
                    const MutableTensorView& output) {
  const QuantizationView& a = inputs[0].quantization;
  const QuantizationView& b = inputs[1].quantization;
  const QuantizationView& y = output.quantization;
  const float real = a.scale[0] / (b.scale[0] * y.scale[0]);
  const FixedPointMultiplier factor = QuantizeMultiplier(double{real});
  const QuantizedRange range =
      ClampRange(op.clamp(), v1::HALF_UP, y, output.type);
  Apply<T, T>(inputs, output, [&](T p, T q) {
    int32_t over = p - a.zero_point[0];
    int32_t under = q - b.zero_point[0];
    if (under < 0) {
      over = -over;
      under = -under;
    }
    // By zero: as far as the sign says; 0 / 0 is 0.
    if (over == 0) return static_cast<T>(Finish(0, {}, y.zero_point[0], range));
    if (under == 0) return static_cast<T>(over < 0 ? range.min : range.max);
    FixedPointMultiplier inverse = FixedReciprocal(under);
    // Bits like the sign's; one is always left.
    const auto bits = static_cast<uint32_t>(over < 0 ? ~over : over);
    const int free = std::min(std::countl_zero(bits) - 1, 30);
    FixedPointMultiplier last = factor;
    last.shift += inverse.shift - free;
    inverse.shift = free;
    if (last.shift < -31) last = {};  // Nothing is left.
    return static_cast<T>(
        Finish(Rescale(over, inverse), last, y.zero_point[0], range));
  });
  return absl::OkStatus();
}

// Both in the steps of the output, then compared.
template <typename T>
absl::Status Extreme(bool largest, Inputs inputs,
                     const MutableTensorView& output) {
  RescaleParameters p[2];
  for (int i = 0; i < 2; ++i) {
    EK_ASSIGN_OR_RETURN(p[i],
                        ChangeOfScale({}, v1::HALF_UP, inputs[i].quantization,
                                      output.quantization, output.type));
  }
  const auto rescaled = [](const RescaleParameters& r) {
    return [&r](int32_t q) {
      return r.identity ? q
                        : Finish(q - r.input_zero_point, r.multiplier,
                                 r.output_zero_point, r.clamp);
    };
  };
  ApplyMapped<T, T>(inputs, output, rescaled(p[0]), rescaled(p[1]),
                    [largest](int32_t a, int32_t b) {
                      return largest ? std::max(a, b) : std::min(a, b);
                    });
  return absl::OkStatus();
}

// The difference at half of the larger scale, with 7 more bits where there is
// room for them.
template <typename T>
void SquaredDifference(Inputs inputs, const MutableTensorView& output) {
  const QuantizationView& a = inputs[0].quantization;
  const QuantizationView& b = inputs[1].quantization;
  const QuantizationView& y = output.quantization;
  const double unit = 2.0 * std::max(double{a.scale[0]}, double{b.scale[0]});
  constexpr int kMoreBits = sizeof(T) == 1 ? 7 : 0;
  const auto scaled = [unit](const QuantizationView& q) {
    const FixedPointMultiplier factor =
        QuantizeMultiplier(double{q.scale[0]} / unit);
    return [factor, zero = q.zero_point[0]](int32_t value) {
      return Rescale((value - zero) * (1 << kMoreBits), factor);
    };
  };
  const FixedPointMultiplier factor = QuantizeMultiplier(
      unit * unit / ((1 << 2 * kMoreBits) * double{y.scale[0]}));
  const QuantizedRange range = RangeOf(output.type);
  ApplyMapped<T, T>(
      inputs, output, scaled(a), scaled(b), [&](int32_t p, int32_t q) {
        return Finish((p - q) * (p - q), factor, y.zero_point[0], range);
      });
}

template <typename T>
void Prelu(Inputs inputs, const MutableTensorView& output) {
  const QuantizationView& x = inputs[0].quantization;
  const QuantizationView& slope = inputs[1].quantization;
  const QuantizationView& y = output.quantization;
  // In float, as TensorFlow Lite computes these factors.
  const float above = x.scale[0] / y.scale[0];
  const float below = x.scale[0] * slope.scale[0] / y.scale[0];
  const FixedPointMultiplier factors[2] = {QuantizeMultiplier(double{above}),
                                           QuantizeMultiplier(double{below})};
  const QuantizedRange range = RangeOf(output.type);
  Apply<T, T>(inputs, output, [&](T p, T q) {
    const int32_t value = p - x.zero_point[0];
    return static_cast<T>(
        value >= 0 ? Finish(value, factors[0], y.zero_point[0], range)
                   : Finish(value * (q - slope.zero_point[0]), factors[1],
                            y.zero_point[0], range));
  });
}

// Real values that can be compared: 8 bits as TensorFlow Lite in steps of
// 1/256, 16 bits exactly.
template <typename T>
auto ComparableOf(const QuantizationView& q) {
  if constexpr (sizeof(T) == 1) {
    const FixedPointMultiplier factor = QuantizeMultiplier(double{q.scale[0]});
    return [factor, zero = q.zero_point[0]](int32_t value) {
      const int n = 31 - factor.shift;
      const int64_t product = int64_t{value - zero} * 256 * factor.multiplier;
      return (product + (int64_t{1} << (n - 1))) >> n;
    };
  } else {
    return [scale = double{q.scale[0]}, zero = q.zero_point[0]](int32_t value) {
      return scale * (value - zero);
    };
  }
}

template <typename T, typename F>
absl::Status CompareBy(Inputs inputs, const MutableTensorView& output,
                       const F& f) {
  ApplyMapped<T, bool>(inputs, output, ComparableOf<T>(inputs[0].quantization),
                       ComparableOf<T>(inputs[1].quantization), f);
  return absl::OkStatus();
}

template <typename T>
absl::Status Compare(const B& op, Inputs inputs,
                     const MutableTensorView& output) {
  switch (op.function()) {
    case B::EQUAL:
      return CompareBy<T>(inputs, output,
                          [](auto a, auto b) { return a == b; });
    case B::NOT_EQUAL:
      return CompareBy<T>(inputs, output,
                          [](auto a, auto b) { return a != b; });
    case B::GREATER:
      return CompareBy<T>(inputs, output, [](auto a, auto b) { return a > b; });
    case B::GREATER_OR_EQUAL:
      return CompareBy<T>(inputs, output,
                          [](auto a, auto b) { return a >= b; });
    case B::LESS:
      return CompareBy<T>(inputs, output, [](auto a, auto b) { return a < b; });
    case B::LESS_OR_EQUAL:
      return CompareBy<T>(inputs, output,
                          [](auto a, auto b) { return a <= b; });
    default:
      return absl::UnimplementedError(
          "binary function without a quantized form");
  }
}

}  // namespace

absl::Status AddQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                          int32_t sign, Inputs inputs,
                          const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedAddParameters p,
      AddParameters(clamp, rounding, inputs[0].quantization,
                    inputs[1].quantization, output.quantization, output.type));
  const auto scaled = [&p](int i) {
    return [&p, i](int32_t value) {
      return Rescale((value - p.zero_point[i]) * (1 << p.left_shift),
                     p.multiplier[i]);
    };
  };
  return WithQuantizedType(output.type, [&](auto type) {
    using T = decltype(type);
    ApplyMapped<T, T>(inputs, output, scaled(0), scaled(1),
                      [&](int32_t a, int32_t b) {
                        return Finish(a + sign * b, p.output_multiplier,
                                      p.output_zero_point, p.clamp);
                      });
    return absl::OkStatus();
  });
}

absl::Status MulQuantized(const v1::Clamp& clamp, v1::Rounding rounding,
                          Inputs inputs, const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedMulParameters p,
      MulParameters(clamp, rounding, inputs[0].quantization,
                    inputs[1].quantization, output.quantization, output.type));
  return WithQuantizedType(output.type, [&](auto type) {
    using T = decltype(type);
    Apply<T, T>(inputs, output, [&](T a, T b) {
      const int32_t product = (a - p.zero_point[0]) * (b - p.zero_point[1]);
      return static_cast<T>(
          Finish(product, p.multiplier, p.output_zero_point, p.clamp));
    });
    return absl::OkStatus();
  });
}

absl::Status BinaryQuantized(const v1::Binary& op, v1::Rounding rounding,
                             Inputs inputs, const MutableTensorView& output) {
  if (op.function() == B::SUB) {
    return AddQuantized(op.clamp(), rounding, -1, inputs, output);
  }
  return WithQuantizedType(inputs[0].type, [&](auto type) {
    using T = decltype(type);
    switch (op.function()) {
      case B::DIV:
        return Divide<T>(op, inputs, output);
      case B::MINIMUM:
      case B::MAXIMUM:
        return Extreme<T>(op.function() == B::MAXIMUM, inputs, output);
      case B::SQUARED_DIFFERENCE:
        SquaredDifference<T>(inputs, output);
        return absl::OkStatus();
      case B::PRELU:
        Prelu<T>(inputs, output);
        return absl::OkStatus();
      default:
        return Compare<T>(op, inputs, output);
    }
  });
}

}  // namespace edgekiln::ops
