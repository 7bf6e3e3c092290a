#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"
#include "ops/window.h"

// Pooling: all channels of one output pixel side by side, window positions
// ascending (kd, kh, kw); positions in the padding are left out.
//
// Sums of floats are float, column by column: whether the mean of a few
// quantized values lies above or below a tie is decided by these roundings,
// and so they are those of the runtimes that networks are quantized with.
namespace edgekiln::ops {
namespace {

struct Problem {
  WindowGeometry geometry;
  const v1::Clamp& clamp;
  v1::Rounding rounding = v1::HALF_UP;
  bool count_include_pad = false;
  bool column_major = false;
};

// Calls visit(input pixel, column) for every window position inside the input,
// with pixels counted within the image and columns from the first inside, then
// finish(output pixel, number of
// positions). start(image) comes before the visits of each window.
template <typename Start, typename Visit, typename Finish>
void ForEachWindow(const WindowGeometry& g, const Start& start,
                   const Visit& visit, const Finish& finish) {
  for (int64_t pixel = 0; pixel < g.pixels(); ++pixel) {
    start(pixel / g.image_pixels());
    const WindowGeometry::Extents at = g.PositionOf(pixel);
    WindowGeometry::Extents first;
    for (int d = 0; d < 3; ++d) first[d] = at[d] * g.stride[d] - g.pad[d];
    const WindowSteps z(first[0], g.dilation[0], g.kernel[0], g.in[0]);
    const WindowSteps y(first[1], g.dilation[1], g.kernel[1], g.in[1]);
    const WindowSteps x(first[2], g.dilation[2], g.kernel[2], g.in[2]);
    for (int64_t kd = z.begin; kd < z.end; ++kd) {
      const int64_t plane = (first[0] + kd * g.dilation[0]) * g.in[1];
      for (int64_t kh = y.begin; kh < y.end; ++kh) {
        const int64_t line =
            (plane + first[1] + kh * g.dilation[1]) * g.in[2] + first[2];
        for (int64_t kw = x.begin; kw < x.end; ++kw) {
          visit(line + kw * g.dilation[2], kw - x.begin);
        }
      }
    }
    finish(pixel, z.count() * y.count() * x.count());
  }
}

// The result for one channel, limited: of real numbers, of quantized ones, or
// of plain integers, which have no clamp.
template <typename T>
class Limit {
 public:
  Limit(const Problem& problem, const MutableTensorView& output)
      : real_(FloatRangeOf(problem.clamp)),
        steps_(ClampRange(problem.clamp, problem.rounding, output.quantization,
                          output.type)),
        plain_(!output.quantization.present()) {}

  T operator()(T value) const {
    if constexpr (std::is_floating_point_v<T>) {
      value = value < T{real_.min} ? T{real_.min} : value;
      return value > T{real_.max} ? T{real_.max} : value;
    } else {
      if (plain_) return value;
      return static_cast<T>(std::clamp<int64_t>(static_cast<int64_t>(value),
                                                steps_.min, steps_.max));
    }
  }

 private:
  FloatRange real_;
  QuantizedRange steps_;
  bool plain_;
};

// The mean of `inside` values that sum to `sum` and of padding, `count` in all:
// of none 0, or the zero point.
template <typename T>
T Mean(T sum, int64_t count, int64_t, int32_t, v1::Rounding) {
  return count == 0 ? T{0} : sum / static_cast<T>(count);
}
template <typename T>
T Mean(int64_t sum, int64_t count, int64_t inside, int32_t zero_point,
       v1::Rounding rounding) {
  if (count == 0) return static_cast<T>(zero_point);
  // Even is the distance to the zero point: the real value counts.
  return static_cast<T>(
      rounding == v1::HALF_EVEN
          ? zero_point + AverageHalfEven(sum - inside * zero_point, count)
          : RoundedAverage(sum + (count - inside) * zero_point, count));
}

template <typename T, typename Sum>
void Average(const Problem& problem, const TensorView& input,
             const MutableTensorView& output) {
  const WindowGeometry& g = problem.geometry;
  const int64_t channels = g.in_c;
  const Limit<T> limit(problem, output);
  const int32_t zero_point =
      input.quantization.present() ? input.quantization.zero_point[0] : 0;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
  const T* image = nullptr;
  // A window may be wider than the image: only so many columns are inside.
  const int64_t width = std::min(g.kernel[2], g.in[2]);
  std::vector<Sum> columns(width * channels, 0);
  ForEachWindow(
      g,
      [&](int64_t i) {
        image = input.as<T>() + i * g.input_pixels() * channels;
      },
      [&](int64_t pixel, int64_t column) {
        const T* x = image + pixel * channels;
        Sum* sums = columns.data() + column * channels;
        for (int64_t c = 0; c < channels; ++c)
          sums[c] += static_cast<Sum>(x[c]);
      },
      [&](int64_t pixel, int64_t count) {
        const int64_t counted =
            problem.count_include_pad ? g.positions() : count;
        T* out = output.as<T>() + pixel * channels;
        Sum* sums = columns.data();
        for (int64_t column = 1; column < width; ++column) {
          for (int64_t c = 0; c < channels; ++c) {
            sums[c] += sums[column * channels + c];
          }
        }
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = limit(Mean<T>(static_cast<Wide>(sums[c]), counted, count,
                                 zero_point, problem.rounding));
        }
        std::fill(columns.begin(), columns.end(), 0);
      });
}

// (sum of |x|^p)^(1/p), summed in double from the first position to the last.
template <typename T>
void Norm(const Problem& problem, int32_t p, const TensorView& input,
          const MutableTensorView& output) {
  const WindowGeometry& g = problem.geometry;
  const int64_t channels = g.in_c;
  const Limit<T> limit(problem, output);
  const T* image = nullptr;
  std::vector<double> sums(channels, 0);
  ForEachWindow(
      g,
      [&](int64_t i) {
        image = input.as<T>() + i * g.input_pixels() * channels;
      },
      [&](int64_t pixel, int64_t) {
        const T* x = image + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          sums[c] += Pow(std::fabs(double{x[c]}), p);
        }
      },
      [&](int64_t pixel, int64_t) {
        T* out = output.as<T>() + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = limit(static_cast<T>(Pow(sums[c], 1.0 / p)));
        }
        std::fill(sums.begin(), sums.end(), 0);
      });
}

// Where input pixel `pixel` of an image lies among its pixels as ONNX counts
// them.
int64_t PixelIndex(const Problem& problem, int64_t pixel) {
  if (!problem.column_major) return pixel;
  const WindowGeometry& g = problem.geometry;
  const int64_t x = pixel % g.in[2];
  const int64_t y = pixel / g.in[2] % g.in[1];
  const int64_t z = pixel / (g.in[2] * g.in[1]);
  return (x * g.in[1] + y) * g.in[0] + z;
}

// The largest value of each channel, the first of equal ones: a line of output
// pixels at a time, to each the positions of its window in ascending order.
template <typename T>
void Maximum(const Problem& problem, const TensorView& input,
             const MutableTensorView& output) {
  const WindowGeometry& g = problem.geometry;
  const int64_t channels = g.in_c;
  const Limit<T> limit(problem, output);
  const T lowest = std::is_floating_point_v<T>
                       ? -std::numeric_limits<T>::infinity()
                       : std::numeric_limits<T>::lowest();
  const auto steps = [&](int d, int64_t at) {
    return WindowSteps(at * g.stride[d] - g.pad[d], g.dilation[d], g.kernel[d],
                       g.in[d]);
  };
  std::vector<WindowSteps> columns;
  for (int64_t i = 0; i < g.out[2]; ++i) columns.push_back(steps(2, i));
  for (int64_t pixel = 0; pixel < g.pixels(); pixel += g.out[2]) {
    const T* image =
        input.as<T>() + pixel / g.image_pixels() * g.input_pixels() * channels;
    T* const line = output.as<T>() + pixel * channels;
    std::fill_n(line, g.out[2] * channels, lowest);
    const WindowGeometry::Extents at = g.PositionOf(pixel);
    const WindowSteps planes = steps(0, at[0]);
    const WindowSteps rows = steps(1, at[1]);
    for (int64_t k = 0; k < planes.count() * rows.count(); ++k) {
      const int64_t kd = planes.begin + k / rows.count();
      const int64_t kh = rows.begin + k % rows.count();
      const int64_t z = at[0] * g.stride[0] - g.pad[0] + kd * g.dilation[0];
      const int64_t y = at[1] * g.stride[1] - g.pad[1] + kh * g.dilation[1];
      const T* from = image + (z * g.in[1] + y) * g.in[2] * channels;
      for (int64_t i = 0; i < g.out[2]; ++i) {
        T* const best = line + i * channels;
        for (int64_t kw = columns[i].begin; kw < columns[i].end; ++kw) {
          const T* x =
              from +
              (i * g.stride[2] - g.pad[2] + kw * g.dilation[2]) * channels;
          for (int64_t c = 0; c < channels; ++c) {
            best[c] = best[c] < x[c] ? x[c] : best[c];
          }
        }
      }
    }
    for (int64_t i = 0; i < g.out[2] * channels; ++i) line[i] = limit(line[i]);
  }
}

// The same, and where it is.
template <typename T>
void MaximumAndPlace(const Problem& problem, const TensorView& input,
                     const MutableTensorView& output, int64_t* indices) {
  const WindowGeometry& g = problem.geometry;
  const int64_t channels = g.in_c;
  const Limit<T> limit(problem, output);
  const T lowest = std::is_floating_point_v<T>
                       ? -std::numeric_limits<T>::infinity()
                       : std::numeric_limits<T>::lowest();
  const T* image = nullptr;
  std::vector<T> best(channels);
  std::vector<int64_t> where(channels);
  ForEachWindow(
      g,
      [&](int64_t i) {
        image = input.as<T>() + i * g.input_pixels() * channels;
        std::fill(best.begin(), best.end(), lowest);
        std::fill(where.begin(), where.end(), -1);
      },
      [&](int64_t pixel, int64_t) {
        const T* x = image + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          if (where[c] >= 0 && !(best[c] < x[c])) continue;
          best[c] = x[c];
          where[c] = pixel;
        }
      },
      [&](int64_t pixel, int64_t) {
        T* out = output.as<T>() + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) out[c] = limit(best[c]);
        const int64_t first = pixel / g.image_pixels() * channels;
        for (int64_t c = 0; c < channels; ++c) {
          indices[pixel * channels + c] =
              (first + c) * g.input_pixels() +
              PixelIndex(problem, std::max<int64_t>(where[c], 0));
        }
      });
}

absl::Status AverageOf(const Problem& problem, const TensorView& input,
                       const MutableTensorView& output) {
  switch (output.type) {
    case v1::INT8:
      Average<int8_t, int32_t>(problem, input, output);
      break;
    case v1::UINT8:
      Average<uint8_t, int32_t>(problem, input, output);
      break;
    case v1::INT16:
      Average<int16_t, int64_t>(problem, input, output);
      break;
    case v1::FLOAT64:
      Average<double, double>(problem, input, output);
      break;
    default:
      Average<float, float>(problem, input, output);
  }
  return absl::OkStatus();
}

// `indices`: null, or where the places of the maxima go.
template <typename T>
void MaximumFor(const Problem& problem, const TensorView& input,
                const MutableTensorView& output, int64_t* indices) {
  if (indices == nullptr) {
    Maximum<T>(problem, input, output);
  } else {
    MaximumAndPlace<T>(problem, input, output, indices);
  }
}

absl::Status MaximumOf(const Problem& problem, const TensorView& input,
                       const MutableTensorView& output, int64_t* indices) {
  switch (output.type) {
    case v1::INT8:
      MaximumFor<int8_t>(problem, input, output, indices);
      break;
    case v1::UINT8:
    case v1::BOOL:
      MaximumFor<uint8_t>(problem, input, output, indices);
      break;
    case v1::INT16:
      MaximumFor<int16_t>(problem, input, output, indices);
      break;
    case v1::UINT16:
      MaximumFor<uint16_t>(problem, input, output, indices);
      break;
    case v1::INT32:
      MaximumFor<int32_t>(problem, input, output, indices);
      break;
    case v1::UINT32:
      MaximumFor<uint32_t>(problem, input, output, indices);
      break;
    case v1::INT64:
      MaximumFor<int64_t>(problem, input, output, indices);
      break;
    case v1::UINT64:
      MaximumFor<uint64_t>(problem, input, output, indices);
      break;
    case v1::FLOAT64:
      MaximumFor<double>(problem, input, output, indices);
      break;
    default:
      MaximumFor<float>(problem, input, output, indices);
  }
  return absl::OkStatus();
}

template <typename Op>
WindowGeometry Geometry2d(const Op& op, const TensorView& input,
                          const MutableTensorView& output) {
  return GeometryOf(op.window(), input.shape, {op.kernel_h(), op.kernel_w()},
                    output.shape);
}

}  // namespace

absl::Status AveragePool2d(const v1::AveragePool2d& op, v1::Rounding rounding,
                           const TensorView& input,
                           const MutableTensorView& output) {
  return AverageOf({Geometry2d(op, input, output), op.clamp(), rounding,
                    op.count_include_pad()},
                   input, output);
}

absl::Status MaxPool2d(const v1::MaxPool2d& op, const TensorView& input,
                       const MutableTensorView& output) {
  return MaximumOf({Geometry2d(op, input, output), op.clamp()}, input, output,
                   nullptr);
}

absl::Status Pool(const v1::Pool& op, v1::Rounding rounding,
                  const TensorView& input, Outputs outputs) {
  const std::vector<int64_t> kernel(op.kernel().begin(), op.kernel().end());
  const Problem problem{
      GeometryOf(op.window(), input.shape, kernel, outputs[0].shape),
      op.clamp(), rounding, op.count_include_pad(), op.column_major()};
  if (op.function() == v1::Pool::AVERAGE) {
    return AverageOf(problem, input, outputs[0]);
  }
  if (op.function() == v1::Pool::LP_NORM) {
    if (outputs[0].type == v1::FLOAT64) {
      Norm<double>(problem, op.p(), input, outputs[0]);
    } else {
      Norm<float>(problem, op.p(), input, outputs[0]);
    }
    return absl::OkStatus();
  }
  int64_t* const indices =
      outputs.size() > 1 ? outputs[1].as<int64_t>() : nullptr;
  return MaximumOf(problem, input, outputs[0], indices);
}

}  // namespace edgekiln::ops
