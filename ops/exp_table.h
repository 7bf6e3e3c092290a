#ifndef EK_OPS_EXP_TABLE_H_
#define EK_OPS_EXP_TABLE_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/exp.h"

namespace edgekiln::ops {

// TensorFlow Lite's own table of softmax and log-softmax: exp(-beta * scale *
// d) for d steps below the largest of 8-bit values, as floats.
class ExpTable {
 public:
  ExpTable(float beta, float input_scale) {
    const float scale = -input_scale * beta;
    for (int d = 0; d < 256; ++d) {
      const float exponent = scale * static_cast<float>(d);
      powers_[d] = static_cast<float>(Exp(double{exponent}));
    }
  }

  float operator[](int32_t d) const { return powers_[d]; }

  // The largest of `count` > 0 values that lie `step` apart, and the sum of all
  // their powers in ascending order.
  template <typename T>
  struct Line {
    T largest;
    float sum;
  };
  template <typename T>
  Line<T> SumOf(const T* x, int64_t count, int64_t step) const {
    Line<T> line = {x[0], 0};
    for (int64_t i = 1; i < count; ++i) {
      line.largest = std::max(line.largest, x[i * step]);
    }
    for (int64_t i = 0; i < count; ++i) {
      line.sum += powers_[line.largest - x[i * step]];
    }
    return line;
  }

 private:
  std::array<float, 256> powers_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_EXP_TABLE_H_
