#include <cmath>
#include <limits>
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

using R = v1::Reduce;

// Floats accumulate in double and are rounded once.
template <typename T>
using AccumulatorOf =
    std::conditional_t<std::is_floating_point_v<T>, double, T>;

// `finish` turns an accumulator into a result.
template <typename T, typename Acc, typename F, typename Finish>
absl::Status Run(const R& op, const TensorView& input,
                 const MutableTensorView& output, Acc start, const F& f,
                 const Finish& finish) {
  const int64_t outputs = NumElements(output.shape);
  const std::vector<Acc> values =
      ReduceOver<T, Acc>(op.axes(), input, outputs, start, f);
  for (int64_t i = 0; i < outputs; ++i) {
    output.as<T>()[i] = static_cast<T>(finish(values[i]));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ReducePlain(const R& op, const TensorView& input,
                         const MutableTensorView& output) {
  using Acc = AccumulatorOf<T>;
  using Limits = std::numeric_limits<T>;
  const auto same = [](auto value) { return value; };
  switch (op.function()) {
    case R::SUM:
      return Run<T, Acc>(
          op, input, output, 0, [](Acc sum, T x) { return Sum<Acc>(sum, x); },
          same);
    case R::PRODUCT:
      return Run<T, Acc>(
          op, input, output, 1,
          [](Acc product, T x) { return Product<Acc>(product, x); }, same);
    case R::L1:
      return Run<T, Acc>(
          op, input, output, 0,
          [](Acc sum, T x) { return Sum<Acc>(sum, Magnitude(x)); }, same);
    case R::L2:
      return Run<T, double>(
          op, input, output, 0,
          [](double sum, T x) {
            const auto value = static_cast<double>(x);
            return sum + value * value;
          },
          [](double sum) {
            if constexpr (std::is_integral_v<T>) {
              return SaturatingCast<T>(std::sqrt(sum));
            } else {
              return std::sqrt(sum);
            }
          });
    case R::MAX:
      return Run<T, T>(
          op, input, output,
          Limits::has_infinity ? -Limits::infinity() : Limits::lowest(),
          [](T a, T b) { return Larger(a, b); }, same);
    case R::MIN:
      return Run<T, T>(
          op, input, output,
          Limits::has_infinity ? Limits::infinity() : Limits::max(),
          [](T a, T b) { return Smaller(a, b); }, same);
    default:
      return absl::UnimplementedError("reduction without a kernel");
  }
}

absl::Status ReduceBool(const R& op, const TensorView& input,
                        const MutableTensorView& output) {
  const auto same = [](uint8_t value) { return value; };
  if (op.function() == R::ANY || op.function() == R::MAX) {
    return Run<uint8_t, uint8_t>(
        op, input, output, 0,
        [](uint8_t a, uint8_t b) -> uint8_t { return a | (b != 0); }, same);
  }
  return Run<uint8_t, uint8_t>(
      op, input, output, 1,
      [](uint8_t a, uint8_t b) -> uint8_t { return a & (b != 0); }, same);
}

template <typename T>
absl::Status SumQuantized(const R& op, const TensorView& input,
                          const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale({}, v1::HALF_UP, input.quantization,
                                    output.quantization, output.type));
  const int32_t zeros =
      static_cast<int32_t>(ReducedCount(op.axes(), input.shape)) *
      p.input_zero_point;
  return Run<T, int32_t>(
      op, input, output, 0, [](int32_t sum, T x) { return sum + x; },
      [&](int32_t sum) {
        return Finish(sum - zeros, p.multiplier, p.output_zero_point, p.clamp);
      });
}

}  // namespace

absl::Status Reduce(const v1::Reduce& op, const TensorView& input,
                    const MutableTensorView& output) {
  if (input.type == v1::BOOL) return ReduceBool(op, input, output);
  if (output.quantization.present() && op.function() == R::SUM) {
    return WithQuantizedType(output.type, [&](auto type) {
      return SumQuantized<decltype(type)>(op, input, output);
    });
  }
  return WithElementType(output.type, [&](auto type) {
    return ReducePlain<decltype(type)>(op, input, output);
  });
}

}  // namespace edgekiln::ops
