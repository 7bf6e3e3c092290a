#ifndef EK_OPS_LEAKY_RELU_H_
#define EK_OPS_LEAKY_RELU_H_

#include <optional>

#include "edgekiln/v1/graph.pb.h"
#include "ops/requantize.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// The multiplier with which, for every value of the type,
//
//   y = x >= zero_point ? x
//                       : clamp(Rescale(x - zero_point, m) + zero_point)
//
// is what the op computes (docs/numerics.md, 3.12 and 3.19) from `quantization`
// to the same one. Nothing if there is none: the type does not have 8 bits, the
// slope is negative, or the floats of HALF_EVEN round another way, as those of
// 0.1 do for odd multiples of 5. All 256 values are compared.
//
// `op` is a LEAKY_RELU. Thread-safe: a pure function.
std::optional<FixedPointMultiplier> LeakyReluMultiplier(
    const v1::Unary& op, v1::Rounding rounding,
    const QuantizationView& quantization, v1::ElementType type);

}  // namespace edgekiln::ops

#endif  // EK_OPS_LEAKY_RELU_H_
