#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/resize_taps.h"

namespace edgekiln::ops {
namespace {

// What one output position reads: offsets of elements and their weights.
struct Read {
  int64_t offset;
  double weight;
};

// Walks over all output positions but the trailing axes that nothing happens
// to, whose elements stay side by side.
class Walk {
 public:
  Walk(const v1::Resize& op, absl::Span<const int64_t> in,
       absl::Span<const int64_t> out) {
    for (size_t axis = 0; axis < in.size(); ++axis) {
      taps_.emplace_back(op, static_cast<int>(axis), in[axis], out[axis]);
    }
    size_t axes = in.size();
    while (axes > 0 && taps_[axes - 1].identity()) inner_ *= in[--axes];
    taps_.erase(taps_.begin() + static_cast<int64_t>(axes), taps_.end());
    out_ = out.first(axes);
    step_.resize(axes);
    int64_t step = inner_;
    for (size_t axis = axes; axis-- > 0; step *= in[axis]) step_[axis] = step;
  }

  int64_t inner() const { return inner_; }
  int64_t positions() const { return NumElements(out_); }

  // Replaces `reads`: all combinations of the axes' taps, the last axis
  // fastest; weights multiplied from the first axis to the last. Empty where
  // any axis lies outside.
  void At(int64_t position, std::vector<Read>& reads) const {
    reads.assign(1, {0, 1.0});
    std::vector<Read> next;
    int64_t rest = NumElements(out_);
    for (size_t axis = 0; axis < out_.size(); ++axis) {
      rest /= out_[axis];
      const absl::Span<const Tap> taps =
          taps_[axis].at(position / rest % out_[axis]);
      if (taps.size() == 1) {
        for (Read& read : reads) {
          read.offset += taps[0].index * step_[axis];
          read.weight *= taps[0].weight;
        }
        continue;
      }
      next.clear();
      for (const Read& read : reads) {
        for (const Tap& tap : taps) {
          next.push_back({read.offset + tap.index * step_[axis],
                          read.weight * tap.weight});
        }
      }
      reads.swap(next);
    }
  }

 private:
  std::vector<AxisTaps> taps_;  // Of the axes walked over.
  absl::Span<const int64_t> out_;
  std::vector<int64_t> step_;  // Elements of the input per index.
  int64_t inner_ = 1;
};

template <typename T>
T FromReal(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    constexpr auto kLow = std::numeric_limits<T>::lowest();
    constexpr auto kHigh = std::numeric_limits<T>::max();
    const double rounded = std::round(value);
    if (!(rounded > static_cast<double>(kLow))) return kLow;
    if (rounded >= static_cast<double>(kHigh)) return kHigh;
    return static_cast<T>(rounded);
  }
}

// Floats are summed in float, as ONNX's runtimes do: behind it may stand a
// Quantize, for which a mean of two steps is a tie or not.
template <typename T>
void Interpolate(const v1::Resize& op, const TensorView& input,
                 const MutableTensorView& output) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, float, double>;
  const Walk walk(op, input.shape, output.shape);
  const int64_t inner = walk.inner();
  std::vector<Read> reads;
  std::vector<Sum> sums(inner);
  T* out = output.as<T>();
  for (int64_t i = 0; i < walk.positions(); ++i, out += inner) {
    walk.At(i, reads);
    if (reads.empty()) {
      std::fill_n(out, inner, FromReal<T>(op.extrapolation_value()));
      continue;
    }
    std::fill(sums.begin(), sums.end(), Sum{0});
    for (const Read& read : reads) {
      const T* x = input.as<T>() + read.offset;
      const auto weight = static_cast<Sum>(read.weight);
      for (int64_t c = 0; c < inner; ++c) {
        sums[c] += weight * static_cast<Sum>(x[c]);
      }
    }
    for (int64_t c = 0; c < inner; ++c) out[c] = FromReal<T>(sums[c]);
  }
}

// Values as they are; of any type.
void CopyNearest(const v1::Resize& op, const TensorView& input,
                 const MutableTensorView& output) {
  const Walk walk(op, input.shape, output.shape);
  const int64_t bytes = walk.inner() * ElementBytes(output.type);
  std::vector<Read> reads;
  char* out = output.as<char>();
  for (int64_t i = 0; i < walk.positions(); ++i, out += bytes) {
    walk.At(i, reads);
    const int64_t from = reads[0].offset * ElementBytes(output.type);
    std::memcpy(out, input.as<char>() + from, bytes);
  }
}

// TensorFlow Lite's coordinates with 10 fractional bits: position `at` reads
// `low` and `high`, the latter with weight / 1024.
struct FixedTaps {
  FixedTaps(const v1::Resize& op, int64_t in, int64_t out, int64_t at) {
    const bool corners =
        op.coordinates() == v1::Resize::ALIGN_CORNERS && out > 1;
    const int64_t from = corners ? in - 1 : in;
    const int64_t to = corners ? out - 1 : out;
    const int64_t scale = (1024 * from + to / 2) / to;
    int64_t place = at * scale;
    if (op.coordinates() == v1::Resize::HALF_PIXEL) place += scale / 2 - 512;
    low = std::max<int64_t>(place / 1024, 0);
    high = std::min((place + 1023) / 1024, in - 1);
    low = std::min(low, in - 1);
    weight = place - 1024 * low;
  }
  int64_t low, high, weight;
};

// [N,H,W,C] over H and W.
template <typename T>
void InterpolateFixed(const v1::Resize& op, const TensorView& input,
                      const MutableTensorView& output) {
  const auto in = input.shape;
  const auto out = output.shape;
  const int64_t channels = in[3];
  T* to = output.as<T>();
  for (int64_t i = 0; i < NumElements(out.first(3)); ++i, to += channels) {
    const FixedTaps y(op, in[1], out[1], i / out[2] % out[1]);
    const FixedTaps x(op, in[2], out[2], i % out[2]);
    const T* image =
        input.as<T>() + i / (out[1] * out[2]) * in[1] * in[2] * channels;
    const T* top = image + y.low * in[2] * channels;
    const T* bottom = image + y.high * in[2] * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t left =
          int64_t{top[x.low * channels + c]} * (1024 - y.weight) +
          int64_t{bottom[x.low * channels + c]} * y.weight;
      const int64_t right =
          int64_t{top[x.high * channels + c]} * (1024 - y.weight) +
          int64_t{bottom[x.high * channels + c]} * y.weight;
      const int64_t sum = left * (1024 - x.weight) + right * x.weight;
      to[c] = static_cast<T>(std::clamp<int64_t>(
          (sum + (1 << 19)) >> 20, std::numeric_limits<T>::min(),
          std::numeric_limits<T>::max()));
    }
  }
}

// Whether TensorFlow Lite's integer arithmetic applies: its RESIZE_BILINEAR.
bool IsFixed(const v1::Resize& op, const TensorView& input,
             const MutableTensorView& output) {
  const bool coordinates = op.coordinates() == v1::Resize::HALF_PIXEL ||
                           op.coordinates() == v1::Resize::ASYMMETRIC ||
                           op.coordinates() == v1::Resize::ALIGN_CORNERS;
  return op.mode() == v1::Resize::LINEAR && input.quantization.present() &&
         coordinates && !op.antialias() && op.scale().empty() &&
         input.shape.size() == 4 && input.shape[0] == output.shape[0] &&
         input.shape[3] == output.shape[3];
}

}  // namespace

absl::Status Resize(const v1::Resize& op, const TensorView& input,
                    const MutableTensorView& output) {
  const bool crops = op.coordinates() == v1::Resize::TF_CROP_AND_RESIZE;
  if (op.mode() == v1::Resize::NEAREST && !crops) {
    CopyNearest(op, input, output);
    return absl::OkStatus();
  }
  if (IsFixed(op, input, output)) {
    return WithQuantizedType(output.type, [&](auto type) {
      InterpolateFixed<decltype(type)>(op, input, output);
      return absl::OkStatus();
    });
  }
  return WithElementType(output.type, [&](auto type) {
    Interpolate<decltype(type)>(op, input, output);
    return absl::OkStatus();
  });
}

}  // namespace edgekiln::ops
