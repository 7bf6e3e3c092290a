#ifndef EK_OPS_INTERPOLATED_TABLE_H_
#define EK_OPS_INTERPOLATED_TABLE_H_

#include <array>
#include <cmath>
#include <cstdint>

#include "ops/real_quantizer.h"

namespace edgekiln::ops {

// A function of int16 values as TensorFlow Lite's integer kernels compute it:
// 512 pieces of a line, moved so that they miss the function's value at their
// middle by no more than at their ends (docs/numerics.md, 5.4).
class InterpolatedTable {
 public:
  // One scale and zero point each. Everything is computed in F, which is float
  // or double; f is F(F).
  template <typename F>
  struct Steps {
    F input_scale;
    int32_t input_zero_point;
    F output_scale;
    int32_t output_zero_point;
  };
  template <typename F, typename Function>
  InterpolatedTable(const Steps<F>& s, const Function& f) {
    constexpr int32_t kLowest = -32768, kHighest = 32767;
    const auto real = [](F scale, int32_t value, int32_t zero_point) {
      return scale * static_cast<F>(value - zero_point);
    };
    const F first = real(s.input_scale, kLowest, s.input_zero_point);
    const F last = real(s.input_scale, kHighest, s.input_zero_point);
    const F step = (last - first) / kPieces;
    const F inverse =
        F{65536} / (real(s.output_scale, kHighest, s.output_zero_point) -
                    real(s.output_scale, kLowest, s.output_zero_point));
    for (int i = 0; i < kPieces; ++i) {
      const F left = first + static_cast<F>(i) * step;
      const F right = first + static_cast<F>(i + 1) * step;
      const F value = std::round(f(left) * inverse);
      const F between = std::round((f(right) * inverse + value) / 2);
      const F middle = std::round(f(left + step / 2) * inverse);
      values_[i] = ToInt16(value - std::round((between - middle) / 2));
    }
    values_[kPieces] = ToInt16(std::round(f(last) * inverse));
  }

  // Sums wrap around.
  int16_t operator()(int16_t x) const {
    const int piece = 256 + (x >> 7);
    const int base = values_[piece];
    const auto slope = static_cast<int16_t>(values_[piece + 1] - base);
    return static_cast<int16_t>(base + ((slope * (x & 127) + 64) >> 7));
  }

 private:
  static constexpr int kPieces = 512;

  static int16_t ToInt16(double value) {
    return static_cast<int16_t>(Limited(value, {-32768, 32767}));
  }

  std::array<int16_t, kPieces + 1> values_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_INTERPOLATED_TABLE_H_
