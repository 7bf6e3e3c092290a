#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/status_macros.h"
#include "ops/depthwise_kernels.h"
#include "ops/dot.h"
#include "ops/kernels.h"
#include "ops/window.h"

// Depthwise convolution: all channels of output pixels side by side, window
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

// Element types with a kernel for each instruction set.
template <typename Value>
constexpr bool kHasKernel = std::is_same_v<Value, float> || sizeof(Value) == 1;

template <typename X, typename W, typename Sum>
DepthwiseKernel<X, W, Sum> KernelFor(CpuPath path) {
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) return DepthwiseAvx512;
  if (resolved == CpuPath::kAvx2) return DepthwiseAvx2;
#else
  static_cast<void>(path);
#endif
  return DepthwiseScalar;
}

template <typename Dot>
class Depthwise : public PreparedOp {
 public:
  Depthwise(const WindowGeometry& g, int64_t multiplier, Dot dot,
            const TensorView& weights)
      : geometry_(g), multiplier_(multiplier), dot_(std::move(dot)) {
    if (weights.data != nullptr) weights_ = dot_.Lefts(weights);
    FindRuns();
  }

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    if (!weights_.empty()) {
      Compute(weights_.data(), inputs, outputs[0], path);
    } else {
      const std::vector<Left> weights = dot_.Lefts(inputs[1]);
      Compute(weights.data(), inputs, outputs[0], path);
    }
    return absl::OkStatus();
  }

 private:
  using Value = typename Dot::Value;
  using Left = typename Dot::Left;
  using Sum = typename Dot::Sum;
  static constexpr bool kInPlace = std::is_floating_point_v<Sum>;

  // One line of output pixels: which steps of the window its rows see.
  struct Line {
    const Value* x;  // The input image.
    int64_t top;     // Input row of step 0.
    WindowSteps rows;
  };

  void Compute(const Left* weights, Inputs inputs,
               const MutableTensorView& output, CpuPath path) const {
    const WindowGeometry& g = geometry_;
    std::vector<Sum> buffer(kInPlace ? 0 : g.out[2] * g.out_c);
    DotTarget to{output, 0, g.out_c, 0, InputOr(inputs, 2)};
    for (int64_t i = 0; i < g.batch * g.out[1]; ++i) {
      const int64_t top = i % g.out[1] * g.stride[1] - g.pad[1];
      const Line line{
          inputs[0].as<Value>() + i / g.out[1] * g.input_pixels() * g.in_c, top,
          WindowSteps(top, g.dilation[1], g.kernel[1], g.in[1])};
      Sum* sums = nullptr;
      if constexpr (kInPlace) {
        sums = output.as<Sum>() + to.first;
      } else {
        sums = buffer.data();
      }
      ComputeLine(line, weights, sums, path);
      dot_.Finish(sums, g.out[2], g.out_c, to, path);
      to.first += g.out[2] * g.out_c;
    }
  }

  // Neighbours whose windows see the same columns go together.
  struct PixelRun {
    int64_t first, pixels;  // Of an output line.
    WindowSteps columns;
  };

  void FindRuns() {
    const WindowGeometry& g = geometry_;
    int64_t ox = 0;
    while (ox < g.out[2]) {
      const WindowSteps columns = ColumnsOf(ox);
      int64_t end = ox + 1;
      while (end < g.out[2]) {
        const WindowSteps next = ColumnsOf(end);
        if (next.begin != columns.begin || next.end != columns.end) break;
        ++end;
      }
      runs_.push_back({ox, end - ox, columns});
      ox = end;
    }
  }

  void ComputeLine(const Line& line, const Left* weights, Sum* sums,
                   CpuPath path) const {
    for (const PixelRun& run : runs_) {
      ComputeRun(line, run.columns, run.first, run.pixels, weights,
                 sums + run.first * geometry_.out_c, path);
    }
  }

  WindowSteps ColumnsOf(int64_t ox) const {
    const WindowGeometry& g = geometry_;
    return WindowSteps(ox * g.stride[2] - g.pad[2], g.dilation[2], g.kernel[2],
                       g.in[2]);
  }

  void ComputeRun(const Line& line, const WindowSteps& columns, int64_t ox,
                  int64_t pixels, const Left* weights, Sum* sums,
                  CpuPath path) const {
    const WindowGeometry& g = geometry_;
    const int64_t left = ox * g.stride[2] - g.pad[2];
    const Value* x =
        line.x + ((line.top + line.rows.begin * g.dilation[1]) * g.in[2] +
                  left + columns.begin * g.dilation[2]) *
                     g.in_c;
    const Left* w =
        weights + (line.rows.begin * g.kernel[2] + columns.begin) * g.out_c;
    const DepthwiseRun run{.pixels = pixels,
                           .channels = g.out_c,
                           .rows = line.rows.count(),
                           .columns = columns.count(),
                           .x_row = g.dilation[1] * g.in[2] * g.in_c,
                           .x_column = g.dilation[2] * g.in_c,
                           .x_pixel = g.stride[2] * g.in_c,
                           .w_row = g.kernel[2] * g.out_c};
    if constexpr (kHasKernel<Value>) {
      if (multiplier_ == 1) {
        KernelFor<Value, Left, Sum>(path)(run, x, Sum{dot_.input_zero()}, w,
                                          sums);
        return;
      }
    }
    std::fill_n(sums, pixels * g.out_c, Sum{0});
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t k = 0; k < run.rows * run.columns; ++k) {
        const int64_t kh = k / run.columns;
        const int64_t kw = k % run.columns;
        AddProducts(x + p * run.x_pixel + kh * run.x_row + kw * run.x_column,
                    dot_.input_zero(), w + kh * run.w_row + kw * g.out_c,
                    g.in_c, multiplier_, sums + p * g.out_c);
      }
    }
  }

  const WindowGeometry geometry_;
  const int64_t multiplier_;
  const Dot dot_;
  std::vector<PixelRun> runs_;
  std::vector<Left> weights_;  // Less their zero points; empty: they vary.
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareDepthwiseConv2d(
    const v1::DepthwiseConv2d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output) {
  const WindowGeometry g =
      GeometryOf(op.window(), inputs[0].shape, inputs[1].shape.subspan(1, 2),
                 output.shape);
  return WithDot(op.clamp(), rounding, inputs, output, g.out_c, [&](auto dot) {
    return std::make_unique<Depthwise<decltype(dot)>>(
        g, op.depth_multiplier(), std::move(dot), inputs[1]);
  });
}

}  // namespace edgekiln::ops
