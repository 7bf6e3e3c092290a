#include "compiler/quantize/bias_correction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "compiler/quantize/value_kernels.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kPositions = 4096;
// Pictures differ more than their positions do.
constexpr int64_t kMostStep = 3;
constexpr int kRounds = 3;
constexpr double kErrors = 2;

// Steps from one position to the next. Odd, so that the columns of an image,
// whose number is mostly even, take turns.
int64_t StrideOf(int64_t rows) {
  return std::max<int64_t>(1, rows / kPositions) | 1;
}

}  // namespace

int64_t BiasCorrection::SampleStep(int64_t rows, int64_t samples) {
  return std::clamp<int64_t>(rows * samples / (2 * kPositions), 1, kMostStep);
}

BiasCorrection::BiasCorrection(const v1::Clamp& clamp, double below_largest,
                               int64_t channels, int64_t rows)
    : channels_(channels),
      stride_(StrideOf(rows)),
      below_largest_(below_largest),
      low_(clamp.has_min() ? double{clamp.min()}
                           : -std::numeric_limits<double>::infinity()),
      high_(clamp.has_max() ? double{clamp.max()}
                            : std::numeric_limits<double>::infinity()) {}

void BiasCorrection::AddReal(int64_t first, int64_t count,
                             const float* values) {
  for (int64_t row = 0; row < count; ++row) {
    if (!Takes(first + row)) continue;
    const float* from = values + row * channels_;
    real_.insert(real_.end(), from, from + channels_);
  }
}

void BiasCorrection::AddSums(int64_t first, int64_t count,
                             const int32_t* values,
                             absl::Span<const double> steps,
                             absl::Span<const double> more) {
  for (int64_t row = 0; row < count; ++row) {
    if (!Takes(first + row)) continue;
    const size_t size = ours_.size();
    ours_.resize(size + static_cast<size_t>(channels_));
    float* const to = ours_.data() + size;
    const int32_t* const from = values + row * channels_;
    for (int64_t c = 0; c < channels_; ++c) {
      const double sum = from[c] * steps[c];
      to[c] = static_cast<float>(more.empty() ? sum : sum - more[c]);
    }
  }
}

// Of each channel with `shift` added: the sum of squared errors after the
// clamp; of differences before it, their squares (for the largest scores) and
// their number where not both values are on the same side of it.
BiasCorrection::Totals BiasCorrection::TotalsWith(
    absl::Span<const double> shift, ops::CpuPath cpu_path) const {
  const std::vector<double> none(shift.size(), 0);
  Totals totals = {none, none, none, none};
  const ClampedTotals sums = {shift.data(), totals.errors.data(),
                              totals.differences.data(), totals.squares.data(),
                              totals.counts.data()};
  const ValueKernels& kernels = ValueKernelsFor(cpu_path);
  const bool looks_at_largest = std::isfinite(below_largest_);
  const size_t channels = shift.size();
  constexpr size_t kRows = 64;  // At a time, to stay in the nearest cache.
  std::array<double, kRows> low;
  low.fill(low_);
  const size_t all = real_.size() / std::max<size_t>(channels, 1);
  for (size_t first = 0; first < all; first += kRows) {
    const ClampedRows rows = {real_.data() + first * channels,
                              ours_.data() + first * channels,
                              low.data(),
                              high_,
                              std::min(kRows, all - first),
                              channels};
    for (size_t i = 0; i < rows.rows && looks_at_largest; ++i) {
      const float* row = rows.real + i * channels;
      low[i] = std::max(
          low_, *std::max_element(row, row + channels) - below_largest_);
    }
    kernels.add_clamped(rows, looks_at_largest, sums);
  }
  return totals;
}

std::vector<double> BiasCorrection::Missing(ops::CpuPath cpu_path) const {
  const auto channels = static_cast<size_t>(channels_);
  std::vector<double> best(channels, 0);
  std::vector<double> least(channels, std::numeric_limits<double>::infinity());
  std::vector<double> shift(channels, 0);
  std::vector<double> chance(channels, 0);  // Square of a standard error.
  for (int round = 0; round <= kRounds; ++round) {
    const Totals totals = TotalsWith(shift, cpu_path);
    for (size_t c = 0; c < channels; ++c) {
      if (totals.errors[c] < least[c]) {
        least[c] = totals.errors[c];
        best[c] = shift[c];
        const double count = totals.counts[c];
        chance[c] = count > 0 ? totals.squares[c] / (count * count) : 0;
      }
      if (totals.counts[c] > 0) {
        shift[c] += totals.differences[c] / totals.counts[c];
      }
    }
  }
  for (size_t c = 0; c < channels && std::isfinite(below_largest_); ++c) {
    const double square = best[c] * best[c];
    if (square > 0) {
      best[c] *= std::max(0.0, 1 - kErrors * kErrors * chance[c] / square);
    }
  }
  return best;
}

}  // namespace edgekiln::compiler
