#include "compiler/quantize/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
    for (int64_t c = 0; c < channels_; ++c) {
      const double sum = values[row * channels_ + c] * steps[c];
      ours_.push_back(static_cast<float>(more.empty() ? sum : sum - more[c]));
    }
  }
}

// Without branches, which follow no pattern: channels are added up abreast.
void BiasCorrection::AddRow(absl::Span<const float> reals,
                            absl::Span<const float> sums,
                            absl::Span<const double> shift, double low,
                            double high, Totals& totals) {
  const size_t channels = shift.size();
  double* const errors = totals.errors.data();
  double* const differences = totals.differences.data();
  double* const squares = totals.squares.data();
  double* const counts = totals.counts.data();
  for (size_t c = 0; c < channels; ++c) {
    const double real = reals[c];
    const double ours = sums[c] + shift[c];
    const double error = std::min(std::max(real, low), high) -
                         std::min(std::max(ours, low), high);
    errors[c] += error * error;
    const bool shut =
        ((real <= low) & (ours <= low)) | ((real >= high) & (ours >= high));
    const double difference = shut ? 0.0 : real - ours;
    differences[c] += difference;
    squares[c] += difference * difference;
    counts[c] += shut ? 0.0 : 1.0;
  }
}

// Of each channel with `shift` added: the sum of squared errors after the
// clamp; of differences before it, their squares and their number where not
// both values are on the same side of it.
BiasCorrection::Totals BiasCorrection::TotalsWith(
    absl::Span<const double> shift) const {
  const std::vector<double> none(shift.size(), 0);
  Totals totals = {none, none, none, none};
  const bool looks_at_largest = std::isfinite(below_largest_);
  const double high = high_;
  const size_t channels = shift.size();
  for (size_t i = 0; i < real_.size(); i += channels) {
    const float* row = real_.data() + i;
    const double low =
        looks_at_largest
            ? std::max(low_,
                       *std::max_element(row, row + channels) - below_largest_)
            : low_;
    AddRow({row, channels}, {ours_.data() + i, channels}, shift, low, high,
           totals);
  }
  return totals;
}

std::vector<double> BiasCorrection::Missing() const {
  const auto channels = static_cast<size_t>(channels_);
  std::vector<double> best(channels, 0);
  std::vector<double> least(channels, std::numeric_limits<double>::infinity());
  std::vector<double> shift(channels, 0);
  std::vector<double> chance(channels, 0);  // Square of a standard error.
  for (int round = 0; round <= kRounds; ++round) {
    const Totals totals = TotalsWith(shift);
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
