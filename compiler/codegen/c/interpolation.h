#ifndef EK_COMPILER_CODEGEN_C_INTERPOLATION_H_
#define EK_COMPILER_CODEGEN_C_INTERPOLATION_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/real_math.h"
#include "ops/real_quantizer.h"

namespace edgekiln::compiler {

// The 513 values of an interpolated table (docs/numerics.md, 5.4), which
// ops::InterpolatedTable keeps to itself. F is float or double; f is F(F).
template <typename F, typename Function>
std::vector<int16_t> InterpolatedValues(F input_scale, int32_t input_zero,
                                        F output_scale, int32_t output_zero,
                                        const Function& f) {
  constexpr int kPieces = 512;
  const auto real = [](F scale, int32_t value, int32_t zero) {
    return scale * static_cast<F>(value - zero);
  };
  const auto to_int16 = [](double value) {
    return static_cast<int16_t>(ops::Limited(value, {-32768, 32767}));
  };
  const F first = real(input_scale, -32768, input_zero);
  const F last = real(input_scale, 32767, input_zero);
  const F step = (last - first) / kPieces;
  const F inverse = F{65536} / (real(output_scale, 32767, output_zero) -
                                real(output_scale, -32768, output_zero));
  std::vector<int16_t> values;
  for (int i = 0; i < kPieces; ++i) {
    const F left = first + static_cast<F>(i) * step;
    const F right = first + static_cast<F>(i + 1) * step;
    const F value = std::round(f(left) * inverse);
    const F between = std::round((f(right) * inverse + value) / 2);
    const F middle = std::round(f(left + step / 2) * inverse);
    values.push_back(to_int16(value - std::round((between - middle) / 2)));
  }
  values.push_back(to_int16(std::round(f(last) * inverse)));
  return values;
}

// The values of a squash table (docs/numerics.md, 3.12), which
// ops::SquashTable keeps to itself.
inline std::vector<uint16_t> SquashValues() {
  const auto steps = [](double i) { return 65536 * ops::Sigmoid(i / 24); };
  std::vector<uint16_t> values;
  for (int i = 0; i < 255; ++i) {
    const double missed = (steps(i) + steps(i + 1)) / 2 - steps(i + 0.5);
    values.push_back(static_cast<uint16_t>(std::round(steps(i) - missed / 2)));
  }
  values.push_back(65535);
  return values;
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_INTERPOLATION_H_
