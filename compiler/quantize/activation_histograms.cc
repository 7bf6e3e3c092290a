#include "compiler/quantize/activation_histograms.h"

#include <algorithm>

namespace edgekiln::compiler {

void ActivationHistograms::Add(absl::Span<const float> values,
                               Observed& observed) {
  if (!observed.histogram) return;
  bytes_ -= observed.histogram->bytes();
  observed.histogram->Add(values);
  bytes_ += observed.histogram->bytes();
  while (bytes_ > max_bytes_ && PostponeLast()) {
  }
}

void ActivationHistograms::Drop(Observed& observed) {
  if (observed.histogram) bytes_ -= observed.histogram->bytes();
  observed.histogram = std::nullopt;
  observed.postponed = false;
}

bool ActivationHistograms::EndRun(int64_t kept_ppm) {
  bool again = false;
  for (Observed& one : observed_) {
    if (one.histogram) one.kept = one.histogram->Kept(kept_ppm);
    one.histogram = std::nullopt;
    if (std::exchange(one.postponed, false)) one.histogram.emplace();
    again = again || one.histogram.has_value();
  }
  bytes_ = 0;
  last_ = observed_.size();
  return again;
}

bool ActivationHistograms::PostponeLast() {
  size_t last = last_;
  while (last > 0 && !observed_[last - 1].histogram) --last;
  const bool only = std::none_of(
      observed_.begin(), observed_.begin() + std::max<int64_t>(last, 1) - 1,
      [](const Observed& one) { return one.histogram.has_value(); });
  if (last == 0 || only) return false;
  last_ = last - 1;
  Observed& one = observed_[last_];
  bytes_ -= one.histogram->bytes();
  one.histogram = std::nullopt;
  one.postponed = true;
  return true;
}

}  // namespace edgekiln::compiler
