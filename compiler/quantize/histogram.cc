#include "compiler/quantize/histogram.h"

namespace edgekiln::compiler {

void Histogram::Widen(double magnitude) {
  while (magnitude >= width_ * kBins) {
    for (Bins* bins : {&counts_->positive, &counts_->negative}) {
      for (int i = 0; i < kBins / 2; ++i) {
        (*bins)[i] = (*bins)[2 * i] + (*bins)[2 * i + 1];
      }
      for (int i = kBins / 2; i < kBins; ++i) (*bins)[i] = 0;
    }
    width_ *= 2;
  }
}

void Histogram::Add(absl::Span<const float> values) {
  count_ += static_cast<int64_t>(values.size());
  if (counts_ == nullptr && count_ <= kFewValues) {
    few_.insert(few_.end(), values.begin(), values.end());
    return;
  }
  if (counts_ == nullptr) {
    counts_ = std::make_unique<Counts>();
    Count(few_);
    few_ = {};
  }
  Count(values);
}

void Histogram::Count(absl::Span<const float> values) {
  double largest = 0;
  for (const float value : values) {
    const double magnitude = value < 0 ? -double{value} : double{value};
    if (magnitude > largest) largest = magnitude;
  }
  Widen(largest);
  // Exact: the width is a power of two.
  const double per_width = 1 / width_;
  for (const float value : values) {
    if (value < 0) {
      ++counts_->negative[static_cast<int>(-double{value} * per_width)];
    } else {
      ++counts_->positive[static_cast<int>(double{value} * per_width)];
    }
  }
}

double Histogram::Outermost(const Bins& outer, const Bins& inner,
                            int64_t dropped, double width) {
  int64_t seen = 0;
  for (int i = kBins - 1; i >= 0; --i) {
    seen += outer[i];
    if (seen > dropped) return (i + 1) * width;
  }
  // This end is cut off altogether: the border lies on the other side of 0.
  for (int i = 0; i < kBins; ++i) {
    seen += inner[i];
    if (seen > dropped) return -i * width;
  }
  return 0;
}

std::pair<double, double> Histogram::Kept(int64_t kept_ppm) const {
  if (counts_ == nullptr) {
    Histogram counted;
    counted.counts_ = std::make_unique<Counts>();
    counted.Add(few_);
    return counted.Kept(kept_ppm);
  }
  constexpr int64_t kWhole = 1'000'000;
  // In this order nothing overflows below 2^43 values.
  const int64_t dropped = count_ * (kWhole - kept_ppm) / (2 * kWhole);
  return {-Outermost(counts_->negative, counts_->positive, dropped, width_),
          Outermost(counts_->positive, counts_->negative, dropped, width_)};
}

int64_t Histogram::bytes() const {
  return static_cast<int64_t>(few_.capacity() * sizeof(float) +
                              (counts_ == nullptr ? 0 : sizeof(Counts)));
}

}  // namespace edgekiln::compiler
