#include "ops/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace edgekiln::ops {
namespace {

// Output per input extent, as the op says or as it comes out.
double ScaleOf(const v1::Resize& op, int axis, int64_t in, int64_t out) {
  return op.scale_size() > axis
             ? double{op.scale(axis)}
             : static_cast<double>(out) / static_cast<double>(in);
}

// The input coordinate that output position `position` reads, by a scale that
// the op states. In float, each operation rounded, as ONNX's runtimes do: where
// a coordinate falls between two pixels decides which of them is nearest.
double ScaledCoordinate(const v1::Resize& op, int axis, int64_t in, int64_t out,
                        int64_t position) {
  const float scale = op.scale(axis);
  const auto x = static_cast<float>(position);
  const auto from = static_cast<float>(in);
  const float half_pixel = (x + 0.5f) / scale - 0.5f;
  switch (op.coordinates()) {
    case v1::Resize::ASYMMETRIC:
      return x / scale;
    case v1::Resize::ALIGN_CORNERS: {
      // The length before it was rounded to a whole number; a scale that is
      // the extents' ratio has nothing to say.
      const auto to = static_cast<float>(out);
      const double length =
          scale == to / from ? to : double{scale} * static_cast<double>(in);
      return length > 1 ? x * static_cast<double>(in - 1) / (length - 1) : 0;
    }
    case v1::Resize::PYTORCH_HALF_PIXEL:
      return out > 1 ? half_pixel : 0;
    case v1::Resize::HALF_PIXEL_SYMMETRIC: {
      const float adjustment = static_cast<float>(out) / (scale * from);
      return from / 2 * (1 - adjustment) + (x + 0.5f) / scale - 0.5f;
    }
    case v1::Resize::TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5f) / scale;
    default:
      return half_pixel;
  }
}

// The same by extents alone, in which whole results are exact.
double Coordinate(const v1::Resize& op, int axis, int64_t in, int64_t out,
                  int64_t position) {
  const auto x = static_cast<double>(position);
  const auto from = static_cast<double>(in);
  const auto to = static_cast<double>(out);
  const double half_pixel = (x + 0.5) * from / to - 0.5;
  switch (op.coordinates()) {
    case v1::Resize::ASYMMETRIC:
      return x * from / to;
    case v1::Resize::ALIGN_CORNERS:
      return out > 1 ? x * (from - 1) / (to - 1) : 0;
    case v1::Resize::PYTORCH_HALF_PIXEL:
      return out > 1 ? half_pixel : 0;
    case v1::Resize::TF_CROP_AND_RESIZE: {
      // In float, each operation rounded, like what a scale says.
      const auto last = static_cast<float>(in - 1);
      const float start = op.roi(axis);
      const float end = op.roi(axis + op.shape_size());
      if (out <= 1) return 0.5f * (start + end) * last;
      return start * last + static_cast<float>(position) * (end - start) *
                                last / static_cast<float>(out - 1);
    }
    case v1::Resize::TF_HALF_PIXEL_FOR_NN:
      return half_pixel + 0.5;
    default:
      return half_pixel;
  }
}

// Infinities that floats came to, on their side of every image; what is no
// number, before it.
double Bounded(double x) {
  constexpr double kFar = 0x1p40;
  return x > -kFar ? std::min(x, kFar) : -kFar;
}

double LinearWeight(double distance) {
  return std::max(0.0, 1 - std::fabs(distance));
}

double CubicWeight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// By how much an antialiased filter is stretched: 1 where the image grows.
double Stretch(const v1::Resize& op, double scale) {
  return op.antialias() ? std::min(scale, 1.0) : 1.0;
}

// The first of the positions around ceil(x) - 1 that the filter covers.
double FirstTap(const v1::Resize& op, double stretch) {
  const double support = op.mode() == v1::Resize::CUBIC ? 2 : 1;
  return std::floor(-support / stretch) + 1;
}

}  // namespace

AxisTaps::AxisTaps(const v1::Resize& op, int axis, int64_t in, int64_t out) {
  const double scale = ScaleOf(op, axis, in, out);
  // A crop is stretched to the extents whatever the scale.
  const bool scaled = op.scale_size() > axis &&
                      op.coordinates() != v1::Resize::TF_CROP_AND_RESIZE;
  identity_ = in == out;
  for (int64_t position = 0; position < out; ++position) {
    const double x =
        Bounded(scaled ? ScaledCoordinate(op, axis, in, out, position)
                       : Coordinate(op, axis, in, out, position));
    const bool outside = x < 0 || x > static_cast<double>(in - 1);
    if (op.coordinates() == v1::Resize::TF_CROP_AND_RESIZE && outside) {
      identity_ = false;
    } else if (op.mode() == v1::Resize::NEAREST) {
      AddNearest(op, x, in);
    } else {
      AddWeighted(op, x, in, scale);
    }
    begin_.push_back(std::ssize(taps_));
    const absl::Span<const Tap> taps = at(position);
    identity_ = identity_ && taps.size() == 1 && taps[0].index == position &&
                taps[0].weight == 1;
  }
}

void AxisTaps::AddNearest(const v1::Resize& op, double x, int64_t in) {
  double nearest = 0;
  switch (op.nearest_rounding()) {
    case v1::Resize::ROUND_PREFER_CEIL:
      nearest = std::floor(x + 0.5);
      break;
    case v1::Resize::FLOOR:
      nearest = std::floor(x);
      break;
    case v1::Resize::CEIL:
      nearest = std::ceil(x);
      break;
    default:
      nearest = std::ceil(x - 0.5);
  }
  nearest = std::clamp(nearest, 0.0, static_cast<double>(in - 1));
  taps_.push_back({static_cast<int64_t>(nearest), 1.0});
}

void AxisTaps::AddWeighted(const v1::Resize& op, double x, int64_t in,
                           double scale) {
  const double base = std::ceil(x) - 1;
  const double ratio = x - base;  // In (0, 1].
  const double stretch = Stretch(op, scale);
  const double first = FirstTap(op, stretch);
  const auto begin = static_cast<size_t>(begin_.back());
  const auto last = static_cast<double>(in - 1);
  double sum = 0;
  for (double k = first; k <= 1 - first; ++k) {
    const double distance = (k - ratio) * stretch;
    const double weight = op.mode() == v1::Resize::CUBIC
                              ? CubicWeight(distance, op.cubic_coeff_a())
                              : LinearWeight(distance);
    const double place = base + k;
    const bool outside = place < 0 || place > last;
    if (weight == 0 || (outside && op.exclude_outside())) continue;
    sum += weight;
    const auto index = static_cast<int64_t>(std::clamp(place, 0.0, last));
    if (taps_.size() > begin && taps_.back().index == index) {
      taps_.back().weight += weight;
    } else {
      taps_.push_back({index, weight});
    }
  }
  if (!op.antialias() && !op.exclude_outside()) return;
  for (size_t i = begin; i < taps_.size(); ++i) taps_[i].weight /= sum;
}

double MostTaps(const v1::Resize& op, int axis, int64_t in, int64_t out) {
  if (op.mode() == v1::Resize::NEAREST) return static_cast<double>(out);
  const double first = FirstTap(op, Stretch(op, ScaleOf(op, axis, in, out)));
  return static_cast<double>(out) * (2 - 2 * first);
}

}  // namespace edgekiln::ops
