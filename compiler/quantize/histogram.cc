#include "compiler/quantize/histogram.h"

#include <algorithm>
#include <cmath>

#include "compiler/quantize/value_kernels.h"

namespace edgekiln::compiler {

uint64_t Histogram::Counts::Get(int bin) const {
  if (high.empty()) return low[bin];
  const auto found = high.find(bin);
  return low[bin] + (found == high.end() ? 0 : found->second << 32);
}

void Histogram::Counts::Set(int bin, uint64_t count) {
  low[bin] = static_cast<uint32_t>(count);
  if (!high.empty()) high.erase(bin);
  if (count >> 32 != 0) high[bin] = count >> 32;
}

// No sum exceeds 32 bits.
void Histogram::Counts::HalveLow() {
  for (int i = 0; i < kBins / 2; ++i) low[i] = low[2 * i] + low[2 * i + 1];
  std::fill(low.begin() + kBins / 2, low.end(), 0);
}

void Histogram::Widen(double magnitude) {
  if (empty_) {
    // Nothing to merge: tens of doublings at once.
    while (magnitude >= std::ldexp(kBins, exponent_)) ++exponent_;
    return;
  }
  while (magnitude >= std::ldexp(kBins, exponent_)) {
    for (Counts* counts : {positive_.get(), negative_.get()}) {
      if (counts == nullptr) continue;
      if (counts->high.empty() && counted_values_ <= kFewCounted) {
        counts->HalveLow();
        continue;
      }
      for (int i = 0; i < kBins; ++i) {
        const bool merged = i < kBins / 2;
        counts->Set(i,
                    merged ? counts->Get(2 * i) + counts->Get(2 * i + 1) : 0);
      }
    }
    ++exponent_;
  }
}

void Histogram::Add(absl::Span<const float> values, ops::CpuPath cpu_path) {
  if (!counted_ && few_.size() + values.size() <= kFewValues) {
    few_.insert(few_.end(), values.begin(), values.end());
    return;
  }
  if (!counted_) {
    counted_ = true;
    Count(few_, cpu_path);
    few_ = {};
  }
  Count(values, cpu_path);
}

void Histogram::Count(absl::Span<const float> values, ops::CpuPath cpu_path) {
  const ValueKernels& kernels = ValueKernelsFor(cpu_path);
  float largest = 0;
  float smallest = 0;
  if (!values.empty()) {
    const Extremes extremes = kernels.extremes(values.data(), values.size());
    largest = std::max(largest, extremes.high);
    smallest = std::min(smallest, extremes.low);
  }
  if (positive_ == nullptr) positive_ = std::make_unique<Counts>();
  if (smallest < 0 && negative_ == nullptr) {
    negative_ = std::make_unique<Counts>();
  }
  Widen(std::max(double{largest}, -double{smallest}));
  empty_ = false;
  // Exact: the width is a power of two, and no product is 1024 or more.
  const auto per_width = static_cast<float>(std::ldexp(1, -exponent_));
  // Bins first, then counts: the former is arithmetic without branches.
  constexpr size_t kPart = 8192;
  std::array<int32_t, kPart> bins;
  for (size_t first = 0; first < values.size(); first += kPart) {
    const size_t size = std::min(kPart, values.size() - first);
    kernels.bins(values.data() + first, size, per_width, kBins, bins.data());
    CountBins(absl::MakeConstSpan(bins.data(), size));
  }
}

// Below kBins: positive values.
void Histogram::CountBins(absl::Span<const int32_t> bins) {
  constexpr size_t kMany = 512;
  counted_values_ += static_cast<int64_t>(bins.size());
  if (bins.size() < kMany) {
    for (const int32_t bin : bins) {
      if (bin < kBins) {
        positive_->Add(bin, 1);
      } else {
        negative_->Add(bin - kBins, 1);
      }
    }
    return;
  }
  // Tables by turns, as most values of many tensors are 0 and an increment
  // would wait for the one before it.
  constexpr size_t kTables = 4;
  std::array<std::array<uint16_t, 2 * kBins>, kTables> counts;
  const int used = negative_ == nullptr ? kBins : 2 * kBins;
  for (auto& table : counts) std::fill_n(table.begin(), used, 0);
  size_t i = 0;
  for (; i + kTables <= bins.size(); i += kTables) {
    for (size_t t = 0; t < kTables; ++t) ++counts[t][bins[i + t]];
  }
  for (; i < bins.size(); ++i) ++counts[0][bins[i]];
  for (int first = 0; first < used; first += kBins) {
    Counts& to = first == 0 ? *positive_ : *negative_;
    std::array<uint16_t, kBins> sums;  // Of 8192 at most.
    for (int bin = 0; bin < kBins; ++bin) {
      const int at = first + bin;
      sums[bin] = static_cast<uint16_t>(counts[0][at] + counts[1][at] +
                                        counts[2][at] + counts[3][at]);
    }
    if (counted_values_ <= kFewCounted) {
      for (int bin = 0; bin < kBins; ++bin) to.low[bin] += sums[bin];
    } else {
      for (int bin = 0; bin < kBins; ++bin) to.Add(bin, sums[bin]);
    }
  }
}

v1::CalibrationStatistics::Histogram Histogram::ToProto() const {
  if (!counted_ && !few_.empty()) {
    Histogram counted;
    counted.counted_ = true;
    counted.Count(few_, ops::CpuPath::kAuto);
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
