#ifndef EK_OPS_EXP_TABLE_H_
#define EK_OPS_EXP_TABLE_H_

#include <array>

#include "ops/exp.h"

namespace edgekiln::ops {

// TensorFlow Lite's own table: exp(-beta * scale * d) for d steps below the
// largest of 8-bit values, as floats.
inline std::array<float, 256> ExpTable(float beta, float input_scale) {
  std::array<float, 256> table{};
  const float scale = -input_scale * beta;
  for (int d = 0; d < 256; ++d) {
    const float exponent = scale * static_cast<float>(d);
    table[d] = static_cast<float>(Exp(double{exponent}));
  }
  return table;
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_EXP_TABLE_H_
