#include "ops/dot.h"

#include "ops/requantize.h"
#include "ops/requantize_rows.h"

namespace edgekiln::ops {
namespace {

// Sums and bias as int32 results, modulo 2^32.
template <typename Sum>
void FinishSums(const Sum* sums, int64_t rows, int64_t columns,
                const DotTarget& to) {
  const int32_t* bias =
      to.bias.present() ? to.bias.as<int32_t>() + to.first_channel : nullptr;
  auto* out = to.output.as<int32_t>() + to.first;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto sum = static_cast<uint32_t>(sums[r * columns + c]);
      out[r * to.stride + c] = static_cast<int32_t>(
          bias == nullptr ? sum : sum + static_cast<uint32_t>(bias[c]));
    }
  }
}

}  // namespace

absl::Span<const int32_t> ZeroPoints(const QuantizationView& q, int64_t first,
                                     int64_t count) {
  return q.per_channel() ? q.zero_point.subspan(first, count)
                         : q.zero_point.first(1);
}

ByteFinish::ByteFinish(const QuantizedDotParameters& parameters)
    : no_bias_(parameters.multiplier.size(), 0),
      zero_point_(parameters.output_zero_point),
      range_(parameters.clamp) {
  for (const FixedPointMultiplier& factor : parameters.multiplier) {
    multiplier_.push_back(factor.multiplier);
    shift_.push_back(31 - factor.shift);
    round_.push_back(
        factor.rounding == v1::FLOOR ? 0 : int64_t{1} << (shift_.back() - 1));
    half_even_ = factor.rounding == v1::HALF_EVEN;
  }
}

void ByteFinish::Run(const int32_t* sums, int64_t rows, int64_t columns,
                     const DotTarget& to, CpuPath path) const {
  if (to.output.type == v1::INT32) return FinishSums(sums, rows, columns, to);
  RequantizeKernel kernel = RequantizeScalar;
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) kernel = RequantizeAvx512;
  if (resolved == CpuPath::kAvx2) kernel = RequantizeAvx2;
#else
  static_cast<void>(path);
#endif
  const int32_t* bias =
      to.bias.present() ? to.bias.as<int32_t>() : no_bias_.data();
  const int64_t first = to.first_channel;
  const RequantizeColumns part{.bias = bias + first,
                               .multiplier = multiplier_.data() + first,
                               .shift = shift_.data() + first,
                               .round = round_.data() + first,
                               .zero_point = zero_point_,
                               .low = range_.min - zero_point_,
                               .high = range_.max - zero_point_,
                               .half_even = half_even_};
  kernel(part, rows, columns, sums, to.output.as<uint8_t>() + to.first,
         to.stride);
}

Packed<int64_t> WideDot::Pack(const TensorView& w,
                              const WeightMatrix& m) const {
  const int64_t zero = parameters_.weight_zero_point;
  if (w.type == v1::INT16) {
    return Right(w.as<int16_t>() + m.first, m.depth, m.columns, m.depth_stride,
                 m.column_stride, zero);
  }
  return Right(w.as<int8_t>() + m.first, m.depth, m.columns, m.depth_stride,
               m.column_stride, zero);
}

void WideDot::Finish(const Sum* sums, int64_t rows, int64_t columns,
                     const DotTarget& to, CpuPath) const {
  if (to.output.type == v1::INT32) return FinishSums(sums, rows, columns, to);
  const bool narrow = to.bias.type == v1::INT32;
  auto* out = to.output.as<int16_t>() + to.first;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t channel = to.first_channel + c;
      const FixedPointMultiplier factor = parameters_.multiplier[channel];
      auto sum = static_cast<uint64_t>(sums[r * columns + c]);
      int64_t scaled = 0;
      if (narrow) {
        const auto bias = to.bias.as<int32_t>()[channel];
        sum += static_cast<uint64_t>(int64_t{bias});
        scaled = Rescale(static_cast<int32_t>(sum), factor);
      } else {
        if (to.bias.present()) {
          sum += static_cast<uint64_t>(to.bias.as<int64_t>()[channel]);
        }
        scaled = RescaleWide(static_cast<int64_t>(sum), factor);
      }
      out[r * to.stride + c] = static_cast<int16_t>(
          std::clamp<int64_t>(scaled + parameters_.output_zero_point,
                              parameters_.clamp.min, parameters_.clamp.max));
    }
  }
}

Packed<uint32_t> WrappingDot::Pack(const TensorView& w,
                                   const WeightMatrix& m) const {
  return Right(w.as<int32_t>() + m.first, m.depth, m.columns, m.depth_stride,
               m.column_stride);
}

void WrappingDot::Finish(const Sum* sums, int64_t rows, int64_t columns,
                         const DotTarget& to, CpuPath) const {
  FinishSums(sums, rows, columns, to);
}

}  // namespace edgekiln::ops
