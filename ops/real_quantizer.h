#ifndef EK_OPS_REAL_QUANTIZER_H_
#define EK_OPS_REAL_QUANTIZER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/quantized_parameters.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// Whole steps limited to `range`; NaN, too, is the lower bound.
inline int32_t Limited(double steps, QuantizedRange range) {
  return steps > range.min
             ? static_cast<int32_t>(std::min<double>(steps, range.max))
             : range.min;
}

// Real results of a quantized op that computes in double:
// Limited(half_away(real / scale) + zero_point).
template <typename T>
class RealQuantizer {
 public:
  explicit RealQuantizer(const MutableTensorView& output)
      : scale_(output.quantization.scale[0]),
        zero_point_(output.quantization.zero_point[0]),
        range_(RangeOf(output.type)) {}

  T operator()(double real) const {
    return static_cast<T>(
        Limited(std::round(real / scale_) + zero_point_, range_));
  }

 private:
  const double scale_;
  const double zero_point_;
  const QuantizedRange range_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_REAL_QUANTIZER_H_
