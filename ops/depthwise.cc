#include <algorithm>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot.h"
#include "ops/kernels.h"
#include "ops/window.h"

// Depthwise convolution: all channels of one output pixel side by side, window
// positions ascending (kh, kw); positions in the padding are left out.
namespace edgekiln::ops {
namespace {

// sum[c * m + i] += (x[c] - zero) * w[c * m + i]
template <typename Value, typename Left, typename Sum>
void AddProducts(const Value* x, Left zero, const Left* w, int64_t channels,
                 int64_t multiplier, Sum* sum) {
  // Integers are multiplied as int16, which they fit and which every machine
  // multiplies several at a time.
  if (multiplier == 1) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto a = static_cast<Left>(x[c] - zero);
      sum[c] += a * w[c];
    }
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const auto a = static_cast<Left>(x[c] - zero);
    for (int64_t i = 0; i < multiplier; ++i) {
      sum[c * multiplier + i] += a * w[c * multiplier + i];
    }
  }
}

template <typename Dot>
class Depthwise : public PreparedOp {
 public:
  Depthwise(const WindowGeometry& g, int64_t multiplier, Dot dot,
            const TensorView& weights)
      : geometry_(g), multiplier_(multiplier), dot_(std::move(dot)) {
    if (weights.data != nullptr) weights_ = dot_.Lefts(weights);
  }

  absl::Status Run(Inputs inputs, Outputs outputs, CpuPath) const override {
    if (!weights_.empty()) {
      Compute(weights_.data(), inputs, outputs[0]);
    } else {
      const std::vector<Left> weights = dot_.Lefts(inputs[1]);
      Compute(weights.data(), inputs, outputs[0]);
    }
    return absl::OkStatus();
  }

 private:
  using Value = typename Dot::Value;
  using Left = typename Dot::Left;
  using Sum = typename Dot::Sum;

  void Compute(const Left* weights, Inputs inputs,
               const MutableTensorView& output) const {
    const WindowGeometry& g = geometry_;
    const Left zero = dot_.input_zero();
    std::vector<Sum> sums(g.out_c);
    DotTarget to{output, 0, g.out_c, 0, InputOr(inputs, 2)};
    for (int64_t pixel = 0; pixel < g.pixels(); ++pixel, to.first += g.out_c) {
      const WindowGeometry::Extents at = g.PositionOf(pixel);
      const int64_t top = at[1] * g.stride[1] - g.pad[1];
      const int64_t left = at[2] * g.stride[2] - g.pad[2];
      const WindowSteps rows(top, g.dilation[1], g.kernel[1], g.in[1]);
      const WindowSteps columns(left, g.dilation[2], g.kernel[2], g.in[2]);
      const Value* image = inputs[0].as<Value>() +
                           pixel / g.image_pixels() * g.input_pixels() * g.in_c;
      std::fill(sums.begin(), sums.end(), Sum{0});
      for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
        const int64_t line = (top + kh * g.dilation[1]) * g.in[2] + left;
        for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
          AddProducts(image + (line + kw * g.dilation[2]) * g.in_c, zero,
                      weights + (kh * g.kernel[2] + kw) * g.out_c, g.in_c,
                      multiplier_, sums.data());
        }
      }
      if constexpr (std::is_floating_point_v<Sum>) {
        Sum* out = output.as<Sum>() + to.first;
        std::copy(sums.begin(), sums.end(), out);
        dot_.Finish(out, 1, g.out_c, to);
      } else {
        dot_.Finish(sums.data(), 1, g.out_c, to);
      }
    }
  }

  const WindowGeometry geometry_;
  const int64_t multiplier_;
  const Dot dot_;
  std::vector<Left> weights_;  // Less their zero points; empty: they vary.
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareDepthwiseConv2d(
    const v1::DepthwiseConv2d& op, Inputs inputs, const TensorView& output) {
  const WindowGeometry g =
      GeometryOf(op.window(), inputs[0].shape, inputs[1].shape.subspan(1, 2),
                 output.shape);
  return WithDot(op.clamp(), inputs, output, g.out_c, [&](auto dot) {
    return std::make_unique<Depthwise<decltype(dot)>>(
        g, op.depth_multiplier(), std::move(dot), inputs[1]);
  });
}

}  // namespace edgekiln::ops
