#include "compiler/quantize/histogram.h"

#include <algorithm>
#include <cmath>

namespace edgekiln::compiler {

uint64_t Histogram::Counts::Get(int bin) const {
  const auto found = high.find(bin);
  return low[bin] + (found == high.end() ? 0 : found->second << 32);
}

void Histogram::Counts::Set(int bin, uint64_t count) {
  low[bin] = static_cast<uint32_t>(count);
  high.erase(bin);
  if (count >> 32 != 0) high[bin] = count >> 32;
}

void Histogram::Widen(double magnitude) {
  while (magnitude >= std::ldexp(kBins, exponent_)) {
    for (Counts* counts : {positive_.get(), negative_.get()}) {
      if (counts == nullptr) continue;
      for (int i = 0; i < kBins; ++i) {
        const bool merged = i < kBins / 2;
        counts->Set(i,
                    merged ? counts->Get(2 * i) + counts->Get(2 * i + 1) : 0);
      }
    }
    ++exponent_;
  }
}

void Histogram::Add(absl::Span<const float> values) {
  if (!counted_ && few_.size() + values.size() <= kFewValues) {
    few_.insert(few_.end(), values.begin(), values.end());
    return;
  }
  if (!counted_) {
    counted_ = true;
    Count(few_);
    few_ = {};
  }
  Count(values);
}

void Histogram::Count(absl::Span<const float> values) {
  float largest = 0;
  float smallest = 0;
  for (const float value : values) {
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  if (positive_ == nullptr) positive_ = std::make_unique<Counts>();
  if (smallest < 0 && negative_ == nullptr) {
    negative_ = std::make_unique<Counts>();
  }
  Widen(std::max(double{largest}, -double{smallest}));
  // Exact: the width is a power of two.
  const double per_width = std::ldexp(1, -exponent_);
  for (const float value : values) {
    if (value < 0) {
      negative_->Increment(static_cast<int>(-double{value} * per_width));
    } else {
      positive_->Increment(static_cast<int>(double{value} * per_width));
    }
  }
}

v1::CalibrationStatistics::Histogram Histogram::ToProto() const {
  if (!counted_ && !few_.empty()) {
    Histogram counted;
    counted.counted_ = true;
    counted.Count(few_);
    return counted.ToProto();
  }
  v1::CalibrationStatistics::Histogram proto;
  proto.set_width_exponent(exponent_);
  const auto copy = [](const Counts* counts, auto& bins) {
    int last = kBins;
    while (counts != nullptr && last > 0 && counts->Get(last - 1) == 0) --last;
    for (int i = 0; counts != nullptr && i < last; ++i) {
      const uint64_t count = counts->Get(i);
      bins.Add(count);
      if (count > 0) continue;
      int empty = 1;
      while (counts->Get(i + 1) == 0) {
        ++empty;
        ++i;
      }
      bins.Add(empty);
    }
  };
  copy(positive_.get(), *proto.mutable_positive());
  copy(negative_.get(), *proto.mutable_negative());
  return proto;
}

int64_t Histogram::bytes() const {
  int64_t bytes = static_cast<int64_t>(few_.capacity() * sizeof(float));
  for (const Counts* counts : {positive_.get(), negative_.get()}) {
    if (counts != nullptr) bytes += sizeof(Counts);
  }
  return bytes;
}

}  // namespace edgekiln::compiler
