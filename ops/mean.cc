#include <algorithm>
#include <bit>
#include <vector>

#include "base/status_macros.h"
#include "ops/arithmetic.h"
#include "ops/dot_output.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/reduce_over.h"

namespace edgekiln::ops {
namespace {

// A change of scale that also divides by `count` > 0. Its multiplier is cut
// off, as TensorFlow Lite's is, so that a mean is rounded once.
FixedPointMultiplier DividedBy(FixedPointMultiplier factor, int64_t count) {
  const int log2 = std::bit_width(static_cast<uint64_t>(count)) - 1;
  const int left = std::min(log2, 31 + factor.shift);
  const int64_t widened = int64_t{factor.multiplier} << left;
  return {static_cast<int32_t>(widened / count), factor.shift - left,
          factor.rounding};
}

template <typename T>
absl::Status MeanQuantized(const v1::ReduceMean& op, const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale({}, v1::HALF_UP, input.quantization,
                                    output.quantization, output.type));
  const auto count = static_cast<int32_t>(ReducedCount(op.axes(), input.shape));
  const FixedPointMultiplier factor = DividedBy(p.multiplier, count);
  const int64_t outputs = NumElements(output.shape);
  const std::vector<int32_t> sums = ReduceOver<T, int32_t>(
      op.axes(), input, outputs, 0, [](int32_t sum, T x) { return sum + x; });
  for (int64_t i = 0; i < outputs; ++i) {
    const int32_t centred = sums[i] - count * p.input_zero_point;
    output.as<T>()[i] =
        static_cast<T>(Finish(centred, factor, p.output_zero_point, p.clamp));
  }
  return absl::OkStatus();
}

// Floats: sum and division in double. Integers: the sum wraps in 64 bits, the
// division goes towards zero.
template <typename T>
absl::Status MeanPlain(const v1::ReduceMean& op, const TensorView& input,
                       const MutableTensorView& output) {
  using Acc = std::conditional_t<
      std::is_floating_point_v<T>, double,
      std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  const int64_t outputs = NumElements(output.shape);
  const auto count = static_cast<Acc>(ReducedCount(op.axes(), input.shape));
  const std::vector<Acc> sums = ReduceOver<T, Acc>(
      op.axes(), input, outputs, 0,
      [](Acc sum, T x) { return Sum<Acc>(sum, static_cast<Acc>(x)); });
  for (int64_t i = 0; i < outputs; ++i) {
    output.as<T>()[i] = static_cast<T>(sums[i] / count);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReduceMean(const v1::ReduceMean& op, const TensorView& input,
                        const MutableTensorView& output) {
  if (output.quantization.present()) {
    return WithQuantizedType(output.type, [&](auto type) {
      return MeanQuantized<decltype(type)>(op, input, output);
    });
  }
  return WithElementType(output.type, [&](auto type) {
    return MeanPlain<decltype(type)>(op, input, output);
  });
}

}  // namespace edgekiln::ops
