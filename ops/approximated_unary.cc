#include "ops/approximated_unary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dot_output.h"
#include "ops/fixed_point.h"
#include "ops/interpolated_table.h"
#include "ops/quantized_parameters.h"
#include "ops/squash_table.h"
#include "ops/unary_function.h"

namespace edgekiln::ops {
namespace {

using U = v1::Unary;
using ValueFunction = std::function<int32_t(int32_t)>;

// --- Sigmoid and tanh of int16, results in steps of 2^-15 ---

// To steps of 1 / 12288, so that 2^17 is 32 / 3.
struct TableScale {
  int64_t multiplier;
  int shift = 0;

  explicit TableScale(float scale) {
    double factor = double{scale} * 4096 * 3;
    while (factor <= 32767.0 / 2 && shift <= 30) {
      factor *= 2;
      ++shift;
    }
    // Beyond it every value but 0 is at the end of the table.
    multiplier = static_cast<int64_t>(std::min(factor, 0x1p40));
  }

  int64_t operator()(int32_t q) const {
    const int64_t half = shift > 0 ? int64_t{1} << (shift - 1) : 0;
    return (q * multiplier + half) >> shift;
  }
};

ValueFunction SquashedByTable(U::Function function, float scale) {
  return
      [function, table = SquashTable(), steps = TableScale(scale)](int32_t q) {
        return int32_t{function == U::SIGMOID ? table.Sigmoid(steps(q))
                                              : table.Tanh(steps(q))};
      };
}

ValueFunction SquashedInt16(U::Function function, float scale) {
  int exponent = 0;
  const bool power = IsPowerOfTwo(scale, exponent);
  if (function == U::SIGMOID) {
    if (!power || exponent != -12) return SquashedByTable(function, scale);
    return [](int32_t q) {
      return int32_t{FixedSigmoid(static_cast<int16_t>(q), 3)};
    };
  }
  if (!power || exponent < -12 || exponent > -11) {
    return SquashedByTable(function, scale);
  }
  return [twice = exponent + 12](int32_t q) {
    const auto x = SaturatedTo<int16_t>(int64_t{q} << twice);
    return int32_t{FixedTanh(x, 3)};
  };
}

// --- Others ---

// `beyond` stands for the values of x <= 0 if the function has none there.
ValueFunction TableOf(const U& op, const QuantizationView& in,
                      const QuantizationView& out, bool whole_line,
                      float beyond) {
  const InterpolatedTable table(
      InterpolatedTable::Steps<float>{in.scale[0], in.zero_point[0],
                                      out.scale[0], out.zero_point[0]},
      [&](float x) {
        if (!whole_line && x <= 0) return beyond;
        return static_cast<float>(UnaryOf(op, double{x}));
      });
  return [table](int32_t q) { return table(static_cast<int16_t>(q)); };
}

// 8 bits: 1 / sqrt(x) with 20 more bits, then to the scale of the output.
ValueFunction FixedRsqrt(const QuantizationView& in,
                         const QuantizationView& out, QuantizedRange range) {
  constexpr int kMoreBits = 20;
  // The root and its product in float, as TensorFlow Lite computes them.
  const float scale = std::sqrt(in.scale[0]) * out.scale[0];
  FixedPointMultiplier factor = QuantizeMultiplier(1 / double{scale});
  factor.shift -= kMoreBits;
  if (factor.shift < -31) factor = {0, 0};
  return [=, zero = in.zero_point[0], to = out.zero_point[0]](int32_t q) {
    const int32_t x = q - zero;
    if (x < 0) return range.min;  // TensorFlow Lite stops here.
    if (x == 0) return range.max;
    FixedPointMultiplier root = FixedInverseSqrt(x);
    root.shift += kMoreBits;
    return Finish(Rescale(1, root), factor, to, range);
  };
}

// Cut off, not rounded.
ValueFunction CutSqrt(const QuantizationView& in, const QuantizationView& out,
                      QuantizedRange range) {
  return [range, scale = in.scale[0], zero = in.zero_point[0],
          step = out.scale[0], to = out.zero_point[0]](int32_t q) {
    const float x = scale * static_cast<float>(q - zero);
    if (!(x >= 0)) return range.min;  // TensorFlow Lite stops here.
    const double steps = std::trunc(std::sqrt(x) / step) + to;
    return static_cast<int32_t>(
        std::clamp<double>(steps, range.min, range.max));
  };
}

}  // namespace

ValueFunction ApproximatedUnary(const U& op, const TensorView& input,
                                const MutableTensorView& output) {
  const QuantizationView& in = input.quantization;
  const QuantizationView& out = output.quantization;
  const QuantizedRange range = RangeOf(output.type);
  const bool wide = output.type == v1::INT16;
  const bool symmetric = in.zero_point[0] == 0 && out.zero_point[0] == 0;
  switch (op.function()) {
    case U::SQRT:
      return CutSqrt(in, out, range);
    case U::RSQRT:
      if (!wide) return FixedRsqrt(in, out, range);
      if (!symmetric) return nullptr;
      return TableOf(op, in, out, false,
                     std::numeric_limits<int16_t>::max() * out.scale[0]);
    case U::LOG:
      if (!wide || !symmetric) return nullptr;
      return TableOf(op, in, out, false,
                     std::numeric_limits<int16_t>::min() * out.scale[0]);
    case U::EXP:
      return wide ? TableOf(op, in, out, true, 0) : nullptr;
    case U::SIGMOID:
    case U::TANH: {
      int exponent = 0;
      const bool known = wide && symmetric &&
                         IsPowerOfTwo(out.scale[0], exponent) &&
                         exponent == -15;
      return known ? SquashedInt16(op.function(), in.scale[0]) : nullptr;
    }
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::ops
