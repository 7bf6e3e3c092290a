#ifndef EK_OPS_APPROXIMATED_UNARY_H_
#define EK_OPS_APPROXIMATED_UNARY_H_

#include <cstdint>
#include <functional>

#include "edgekiln/v1/graph.pb.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// The unary functions that TensorFlow Lite computes by tables of few entries or
// in fixed point, from one quantized value to another (docs/numerics.md, 3.12).
// Null where it rounds real values, or has no kernel for the types and scales.
std::function<int32_t(int32_t)> ApproximatedUnary(
    const v1::Unary& op, const TensorView& input,
    const MutableTensorView& output);

}  // namespace edgekiln::ops

#endif  // EK_OPS_APPROXIMATED_UNARY_H_
