#ifndef EK_OPS_REAL_QUANTIZER_H_
#define EK_OPS_REAL_QUANTIZER_H_

#include <algorithm>
#include <cmath>

#include "ops/quantized_parameters.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// Real results of a quantized op that computes in double:
// clamp(half_away(real / scale) + zero_point), NaN as the lower bound.
template <typename T>
class RealQuantizer {
 public:
  explicit RealQuantizer(const MutableTensorView& output)
      : scale_(output.quantization.scale[0]),
        zero_point_(output.quantization.zero_point[0]),
        range_(RangeOf(output.type)) {}

  T operator()(double real) const {
    const double steps = std::round(real / scale_) + zero_point_;
    if (!(steps > range_.min)) return static_cast<T>(range_.min);
    return static_cast<T>(std::min<double>(steps, range_.max));
  }

 private:
  const double scale_;
  const double zero_point_;
  const QuantizedRange range_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_REAL_QUANTIZER_H_
