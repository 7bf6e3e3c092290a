#include <algorithm>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "ops/copy_less.h"
#include "ops/dot.h"
#include "ops/kernels.h"
#include "ops/patch_rows.h"
#include "ops/window.h"

// Convolution as a matrix product: the window of each output pixel becomes a
// row (kd, kh, kw, c ascending), the weights of each output channel a column.
// Padding takes part as zeros. So does a transposed convolution: each position
// of the window of an output pixel reads at most one input pixel.
namespace edgekiln::ops {
namespace {

// Writes what the window of output pixel `pixel` sees of `channels` channels of
// `x` (which starts at the first of them) to `row`, each value minus
// `zero_point`.
template <typename From, typename To>
void GatherWindow(const WindowGeometry& g, int64_t pixel, const From* x,
                  int64_t channels, To zero_point, To* row) {
  const int64_t image = pixel / g.image_pixels();
  const WindowGeometry::Extents at = g.PositionOf(pixel);
  const From* from_image = x + image * g.input_pixels() * g.in_c;
  const int64_t left = at[2] * g.stride[2] - g.pad[2];
  const WindowSteps inside(left, g.dilation[2], g.kernel[2], g.in[2]);
  // Neighbours in the window are neighbours in memory without dilation and
  // groups.
  const bool dense = g.dilation[2] == 1 && channels == g.in_c;
  const int64_t run = dense ? inside.count() : 1;
  const int64_t row_size = g.kernel[2] * channels;
  for (int64_t k = 0; k < g.kernel[0] * g.kernel[1]; ++k, row += row_size) {
    const int64_t z =
        at[0] * g.stride[0] - g.pad[0] + k / g.kernel[1] * g.dilation[0];
    const int64_t y =
        at[1] * g.stride[1] - g.pad[1] + k % g.kernel[1] * g.dilation[1];
    if (z < 0 || z >= g.in[0] || y < 0 || y >= g.in[1] || inside.count() == 0) {
      std::fill_n(row, row_size, To{0});
      continue;
    }
    std::fill_n(row, inside.begin * channels, To{0});
    const From* line = from_image + (z * g.in[1] + y) * g.in[2] * g.in_c;
    for (int64_t kw = inside.begin; kw < inside.end; kw += run) {
      const From* from = line + (left + kw * g.dilation[2]) * g.in_c;
      To* to = row + kw * channels;
      CopyLess(from, run * channels, zero_point, to);
    }
    std::fill_n(row + inside.end * channels, row_size - inside.end * channels,
                To{0});
  }
}

// The input coordinate that step k of the window of output coordinate `at`
// of a transposed convolution reads, or -1.
int64_t Source(const WindowGeometry& g, int d, int64_t at, int64_t k) {
  const int64_t shifted = at + g.pad[d] - k * g.dilation[d];
  if (shifted < 0 || shifted % g.stride[d] != 0) return -1;
  const int64_t source = shifted / g.stride[d];
  return source < g.in[d] ? source : -1;
}

// GatherWindow() of a transposed convolution.
template <typename From, typename To>
void GatherSources(const WindowGeometry& g, int64_t pixel, const From* x,
                   int64_t channels, To zero_point, To* row) {
  const WindowGeometry::Extents at = g.PositionOf(pixel);
  const From* image = x + pixel / g.image_pixels() * g.input_pixels() * g.in_c;
  for (int64_t k = 0; k < g.positions(); ++k, row += channels) {
    const int64_t z = Source(g, 0, at[0], k / (g.kernel[1] * g.kernel[2]));
    const int64_t y = Source(g, 1, at[1], k / g.kernel[2] % g.kernel[1]);
    const int64_t column = Source(g, 2, at[2], k % g.kernel[2]);
    if (z < 0 || y < 0 || column < 0) {
      std::fill_n(row, channels, To{0});
      continue;
    }
    const From* from = image + ((z * g.in[1] + y) * g.in[2] + column) * g.in_c;
    for (int64_t c = 0; c < channels; ++c) {
      row[c] = static_cast<To>(from[c] - zero_point);
    }
  }
}

// What a convolution of one kind of window is, for every arithmetic.
struct ConvShape {
  WindowGeometry geometry;
  int64_t groups = 1;
  bool transposed = false;

  int64_t group_in() const { return geometry.in_c / groups; }
  int64_t group_out() const { return geometry.out_c / groups; }
  int64_t depth() const { return geometry.positions() * group_in(); }
  // Each output pixel is a product of one input pixel, and in the same order.
  bool pointwise() const {
    return groups == 1 && !transposed && geometry.positions() == 1 &&
           geometry.in == geometry.out &&
           geometry.stride == WindowGeometry::Extents{1, 1, 1};
  }
};

template <typename Dot>
class Convolution : public PreparedOp {
 public:
  Convolution(const ConvShape& shape, Dot dot, const TensorView& weights)
      : shape_(shape), dot_(std::move(dot)) {
    if (weights.data != nullptr &&
        FitsPacked(shape_.groups, shape_.depth(), shape_.group_out())) {
      for (int64_t g = 0; g < shape_.groups; ++g) {
        packed_.push_back(PackGroup(weights, g));
      }
    }
  }

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    for (int64_t g = 0; g < shape_.groups; ++g) {
      if (packed_.empty()) {
        RunGroup(g, PackGroup(inputs[1], g), inputs, outputs[0], path);
      } else {
        RunGroup(g, packed_[g], inputs, outputs[0], path);
      }
    }
    return absl::OkStatus();
  }

 private:
  using Value = typename Dot::Value;
  using Left = typename Dot::Left;
  using Right = typename Dot::Right;

  Right PackGroup(const TensorView& weights, int64_t group) const {
    const int64_t depth = shape_.depth();
    const int64_t columns = shape_.group_out();
    return dot_.Pack(weights, {group * columns * depth, depth, columns, 1,
                               depth, group * columns});
  }

  void RunGroup(int64_t group, const Right& right, Inputs inputs,
                const MutableTensorView& output, CpuPath path) const {
    const WindowGeometry& g = shape_.geometry;
    const int64_t first = group * shape_.group_out();
    const DotTarget to{output, first, g.out_c, first, InputOr(inputs, 2)};
    const int64_t channels = shape_.group_in();
    const Value* x = inputs[0].as<Value>() + group * channels;
    if (shape_.pointwise()) {
      MultiplyDense(dot_, right, x, g.pixels(), channels, to, path);
      return;
    }
    const Left zero = dot_.input_zero();
    const int64_t stride = right.padded_depth();
    if (!shape_.transposed && PatchRows<Left>::Pays(g, channels)) {
      const PatchRows<Left> patches(g, x, channels, zero);
      MultiplyRows(
          dot_, right, g.pixels(), to,
          [&](int64_t row, int64_t count, Left* left) {
            patches.Write(row, count, stride, left);
          },
          path);
      return;
    }
    MultiplyRows(
        dot_, right, g.pixels(), to,
        [&](int64_t row, int64_t count, Left* left) {
          for (int64_t r = 0; r < count; ++r) {
            const auto gather = shape_.transposed ? GatherSources<Value, Left>
                                                  : GatherWindow<Value, Left>;
            gather(g, row + r, x, channels, zero, left + r * stride);
          }
        },
        path);
  }

  const ConvShape shape_;
  const Dot dot_;
  std::vector<Right> packed_;  // One per group; empty: weights vary.
};

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConvolution(
    const ConvShape& shape, const v1::Clamp& clamp, v1::Rounding rounding,
    Inputs inputs, const TensorView& output) {
  return WithDot(clamp, rounding, inputs, output, shape.geometry.out_c,
                 [&](auto dot) {
                   return std::make_unique<Convolution<decltype(dot)>>(
                       shape, std::move(dot), inputs[1]);
                 });
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConv2d(
    const v1::Conv2d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output) {
  const auto w = inputs[1].shape;
  return PrepareConvolution(
      {GeometryOf(op.window(), inputs[0].shape, w.subspan(1, 2), output.shape),
       std::max(op.groups(), 1)},
      op.clamp(), rounding, inputs, output);
}

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConv3d(
    const v1::Conv3d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output) {
  const auto w = inputs[1].shape;
  return PrepareConvolution(
      {GeometryOf(op.window(), inputs[0].shape, w.subspan(1, 3), output.shape),
       std::max(op.groups(), 1)},
      op.clamp(), rounding, inputs, output);
}

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareTransposedConv(
    const v1::TransposedConv& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output) {
  const auto w = inputs[1].shape;
  return PrepareConvolution(
      {GeometryOf(op.window(), inputs[0].shape, w.subspan(1, w.size() - 2),
                  output.shape),
       std::max(op.groups(), 1), true},
      op.clamp(), rounding, inputs, output);
}

}  // namespace edgekiln::ops
