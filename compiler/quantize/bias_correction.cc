#include "compiler/quantize/bias_correction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr int64_t kPositions = 4096;
// Pictures differ more than their positions do.
constexpr int64_t kMostStep = 3;
constexpr size_t kAbreast = 4;  // Channels.
using Doubles [[gnu::vector_size(kAbreast * sizeof(double))]] = double;
using Floats [[gnu::vector_size(kAbreast * sizeof(float))]] = float;
using Truths [[gnu::vector_size(kAbreast * sizeof(double))]] = int64_t;
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

// A few channels side by side, whose totals stay in registers; without
// branches, which follow no pattern.
template <bool kSquares>
void BiasCorrection::AddRows(const Rows& rows, size_t c,
                             absl::Span<const double> shifts,
                             Totals& totals) const {
  const auto load = [](auto& to, const auto* from) {
    std::memcpy(&to, from, sizeof(to));
  };
  Doubles shift, errors, differences, squares, counts;
  load(shift, shifts.data() + c);
  load(errors, totals.errors.data() + c);
  load(differences, totals.differences.data() + c);
  load(squares, totals.squares.data() + c);
  load(counts, totals.counts.data() + c);
  const double high = high_;
  for (size_t row = 0; row < rows.count; ++row) {
    const double low = rows.low[row];
    Floats real_row, our_row;
    load(real_row, rows.real + row * channels_ + c);
    load(our_row, rows.ours + row * channels_ + c);
    const Doubles real = __builtin_convertvector(real_row, Doubles);
    const Doubles ours = __builtin_convertvector(our_row, Doubles) + shift;
    const Doubles real_raised = real < low ? Doubles{} + low : real;
    const Doubles ours_raised = ours < low ? Doubles{} + low : ours;
    const Doubles error =
        (real_raised > high ? Doubles{} + high : real_raised) -
        (ours_raised > high ? Doubles{} + high : ours_raised);
    errors += error * error;
    const Truths shut =
        ((real <= low) & (ours <= low)) | ((real >= high) & (ours >= high));
    const Doubles difference = shut ? Doubles{} : real - ours;
    differences += difference;
    if constexpr (kSquares) squares += difference * difference;
    counts += shut ? Doubles{} : Doubles{} + 1.0;
  }
  const auto store = [&](std::vector<double>& to, const auto& from) {
    std::memcpy(to.data() + c, &from, sizeof(from));
  };
  store(totals.errors, errors);
  store(totals.differences, differences);
  store(totals.squares, squares);
  store(totals.counts, counts);
}

// The same for one channel.
void BiasCorrection::AddRowsOf(size_t c, const Rows& rows, double shift,
                               Totals& totals) const {
  for (size_t row = 0; row < rows.count; ++row) {
    const double low = rows.low[row];
    const double real = rows.real[row * channels_ + c];
    const double ours = rows.ours[row * channels_ + c] + shift;
    const double error = std::min(std::max(real, low), high_) -
                         std::min(std::max(ours, low), high_);
    totals.errors[c] += error * error;
    if ((real <= low && ours <= low) || (real >= high_ && ours >= high_)) {
      continue;
    }
    const double difference = real - ours;
    totals.differences[c] += difference;
    totals.squares[c] += difference * difference;
    totals.counts[c] += 1;
  }
}

// Of each channel with `shift` added: the sum of squared errors after the
// clamp; of differences before it, their squares (for the largest scores) and
// their number where not both values are on the same side of it.
BiasCorrection::Totals BiasCorrection::TotalsWith(
    absl::Span<const double> shift) const {
  const std::vector<double> none(shift.size(), 0);
  Totals totals = {none, none, none, none};
  const bool looks_at_largest = std::isfinite(below_largest_);
  const size_t channels = shift.size();
  constexpr size_t kRows = 64;  // At a time, to stay in the nearest cache.
  std::array<double, kRows> low;
  low.fill(low_);
  const size_t all = real_.size() / std::max<size_t>(channels, 1);
  for (size_t first = 0; first < all; first += kRows) {
    const Rows rows = {real_.data() + first * channels,
                       ours_.data() + first * channels, low.data(),
                       std::min(kRows, all - first)};
    for (size_t i = 0; i < rows.count && looks_at_largest; ++i) {
      const float* row = rows.real + i * channels;
      low[i] = std::max(
          low_, *std::max_element(row, row + channels) - below_largest_);
    }
    size_t c = 0;
    for (; c + kAbreast <= channels; c += kAbreast) {
      if (looks_at_largest) {
        AddRows<true>(rows, c, shift, totals);
      } else {
        AddRows<false>(rows, c, shift, totals);
      }
    }
    for (; c < channels; ++c) AddRowsOf(c, rows, shift[c], totals);
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
