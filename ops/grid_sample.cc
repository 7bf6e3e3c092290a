#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

// One spatial dimension of the input: where grid coordinates lie in it, and
// which element stands for a position outside. All in T, as ONNX's reference
// computes it.
template <typename T>
class Axis {
 public:
  Axis(const v1::GridSample& op, int64_t extent)
      : op_(op),
        extent_(extent),
        low_(op.align_corners() ? T{0} : T{-0.5}),
        high_(op.align_corners() ? static_cast<T>(extent - 1)
                                 : static_cast<T>(extent) - T{0.5}) {}

  // Of a grid value in [-1, 1], perhaps rounded and moved inside. What lies
  // beyond 2^40 or is no number becomes -2^40 or 2^40.
  T PositionOf(T grid) const {
    constexpr T kFar = 0x1p40;
    const auto extent = static_cast<T>(extent_);
    T at = op_.align_corners() ? (grid + 1) / 2 * (extent - 1)
                               : ((grid + 1) * extent - 1) / 2;
    if (!(at > -kFar)) at = -kFar;
    if (at > kFar) at = kFar;
    if (op_.mode() == v1::GridSample::NEAREST) at = std::nearbyint(at);
    if (at >= low_ && at <= high_) return at;
    if (op_.padding() == v1::GridSample::BORDER) {
      return std::clamp(at, T{0}, extent - 1);
    }
    return op_.padding() == v1::GridSample::REFLECTION ? Reflected(at) : at;
  }

  // The element at position `at`, or -1 for a zero.
  int64_t ElementAt(int64_t at) const {
    if (at >= 0 && at < extent_) return at;
    if (op_.padding() == v1::GridSample::ZEROS) return -1;
    if (op_.padding() == v1::GridSample::REFLECTION) {
      at = static_cast<int64_t>(Reflected(static_cast<T>(at)));
    }
    return std::clamp<int64_t>(at, 0, extent_ - 1);
  }

 private:
  // `at` mirrored at both ends until it is between them.
  T Reflected(T at) const {
    const T range = high_ - low_;
    if (range <= 0) return low_;
    const bool below = at < low_;
    if (!below && at <= high_) return at;
    const T beyond = below ? low_ - at : at - high_;
    const T times = std::trunc(beyond / range);
    const T rest = beyond - times * range;
    const bool even = std::fmod(times, T{2}) == 0;
    return even == below ? low_ + rest : high_ - rest;
  }

  const v1::GridSample& op_;
  const int64_t extent_;
  const T low_, high_;
};

// The elements along one axis that a position reads, with their weights.
template <typename T>
struct Taps {
  int count = 0;
  std::array<int64_t, 4> element = {};  // -1: a zero.
  std::array<T, 4> weight = {};
};

template <typename T>
Taps<T> TapsOf(const v1::GridSample& op, const Axis<T>& axis, T position) {
  const T below = std::floor(position);
  const T d = position - below;
  Taps<T> taps;
  int64_t first = static_cast<int64_t>(below);
  if (op.mode() == v1::GridSample::NEAREST) {
    taps = {1, {}, {T{1}}};
  } else if (op.mode() == v1::GridSample::LINEAR) {
    taps = {2, {}, {1 - d, d}};
  } else {
    // Keys' kernel with a = -0.75 at the distances 1 + d, d, 1 - d, 2 - d.
    constexpr T a = T{-0.75};
    const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](T x) {
      return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    };
    taps = {4, {}, {far(1 + d), near(d), near(1 - d), far(2 - d)}};
    --first;
  }
  for (int i = 0; i < taps.count; ++i) {
    taps.element[i] = axis.ElementAt(first + i);
  }
  return taps;
}

template <typename T>
void Sample(const v1::GridSample& op, Inputs inputs,
            const MutableTensorView& output) {
  const auto shape = inputs[0].shape;
  const int64_t height = shape[1], width = shape[2], channels = shape[3];
  const int64_t pixels = output.shape[1] * output.shape[2];
  const Axis<T> vertical(op, height), horizontal(op, width);
  for (int64_t i = 0; i < shape[0] * pixels; ++i) {
    const T* image = inputs[0].as<T>() + i / pixels * height * width * channels;
    const T* grid = inputs[1].as<T>() + 2 * i;
    const Taps<T> x = TapsOf(op, horizontal, horizontal.PositionOf(grid[0]));
    const Taps<T> y = TapsOf(op, vertical, vertical.PositionOf(grid[1]));
    T* out = output.as<T>() + i * channels;
    std::fill_n(out, channels, T{0});
    for (int row = 0; row < y.count; ++row) {
      for (int column = 0; column < x.count; ++column) {
        if (y.element[row] < 0 || x.element[column] < 0) continue;
        const T weight = y.weight[row] * x.weight[column];
        const T* from =
            image + (y.element[row] * width + x.element[column]) * channels;
        for (int64_t c = 0; c < channels; ++c) out[c] += weight * from[c];
      }
    }
  }
}

}  // namespace

absl::Status GridSample(const v1::GridSample& op, Inputs inputs,
                        const MutableTensorView& output) {
  if (output.type == v1::FLOAT64) {
    Sample<double>(op, inputs, output);
  } else {
    Sample<float>(op, inputs, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
