#include "compiler/quantize/activation_range.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/quantize/histogram.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

constexpr double kWhole = 1e6;
constexpr int kDefaultPercentilePpm = 999'900;
// Thresholds that are tried, at most about.
constexpr int kThresholds = 256;

// Ranges are tried in steps of 2^(1/8), down to 1/16, then around the best one
// in steps of 2^(1/32).
constexpr double kWideStep = 0.91700404320467122;
constexpr int kWideSteps = 32;
constexpr double kFineStep = 0.97857206208770014;
constexpr int kFineSteps = 4;
// What cuts something off has to be better by this much: bins say only about
// where values lie.
constexpr double kWorthClipping = 0.98;

// A group's bins, before there are fewer.
constexpr std::ptrdiff_t kManyBins = 1 << 14;

// Powers of two that are tried below the one that holds everything.
constexpr int kPowersOfTwo = 4;

double Power(double base, int exponent) {
  double result = 1;
  for (int i = 0; i < std::abs(exponent); ++i) {
    result = exponent > 0 ? result * base : result / base;
  }
  return result;
}

// The factor of `range` with the least `error`, of the ends that `scaled`
// moves.
template <typename Scaled, typename Error>
double BestFactor(const Scaled& scaled, const Error& error) {
  double best = 1;
  double least = error(scaled(1.0)) * kWorthClipping;
  const auto attempt = [&](double factor) {
    const double here = error(scaled(factor));
    if (here < least) {
      least = here;
      best = factor;
    }
  };
  double factor = 1;
  for (int i = 0; i < kWideSteps; ++i) attempt(factor *= kWideStep);
  const double wide = best;
  for (int i = -kFineSteps; i <= kFineSteps; ++i) {
    const double fine = wide * Power(kFineStep, i);
    if (fine < 1) attempt(fine);
  }
  return best;
}

}  // namespace

void SeenValues::Include(const v1::CalibrationStatistics::TensorRange& seen) {
  const RealRange all{seen.min(), seen.max()};
  const RealRange average{seen.average_min(), seen.average_max()};
  if (any_) {
    all_.Include(all);
    average_.Include(average);
  } else {
    all_ = all;
    average_ = average;
  }
  any_ = true;
  if (!seen.has_histogram()) {
    uncounted_ = true;
    average_.Include(all);
    return;
  }
  const v1::CalibrationStatistics::Histogram& counts = seen.histogram();
  const double width = std::ldexp(1, counts.width_exponent());
  const std::ptrdiff_t before = std::ssize(bins_);
  bin_width_ = std::max(bin_width_, width);
  // The middle of a bin, but not outside of what was seen; of the one at zero,
  // zero: most of what is there is what a ReLU leaves.
  const auto add = [&](int64_t i, double sign, uint64_t count) {
    if (count == 0) return;
    const double middle =
        i == 0 ? 0 : sign * (static_cast<double>(i) + 0.5) * width;
    bins_.push_back({static_cast<float>(std::clamp(middle, all.low, all.high)),
                     static_cast<float>(count)});
  };
  const auto add_all = [&](double sign, const auto& bins) {
    int64_t bin = 0;
    for (int i = 0; i < bins.size(); ++i) {
      if (bins[i] > 0) {
        add(bin++, sign, bins[i]);
      } else if (++i < bins.size()) {
        // So many are empty.
        bin += static_cast<int64_t>(std::min(bins[i], Histogram::kMostEmpty));
      }
    }
  };
  add_all(-1, counts.negative());
  add_all(1, counts.positive());
  const auto less = [](const Bin& a, const Bin& b) {
    return a.value < b.value;
  };
  std::stable_sort(bins_.begin() + before, bins_.end(), less);
  std::inplace_merge(bins_.begin(), bins_.begin() + before, bins_.end(), less);
  if (std::ssize(bins_) > kManyBins) HalveBins();
}

void SeenValues::IncludeWhole(const RealRange& range) {
  if (any_) {
    all_.Include(range);
    average_.Include(range);
  } else {
    all_ = range;
    average_ = range;
  }
  any_ = true;
  whole_.Include(range);
}

// Neighbours become one bin: of thousands of tensors that share a quantization.
void SeenValues::HalveBins() {
  size_t kept = 0;
  for (size_t i = 0; i < bins_.size(); i += 2) {
    Bin bin = bins_[i];
    if (i + 1 < bins_.size()) {
      const Bin& other = bins_[i + 1];
      const double count = double{bin.count} + other.count;
      bin.value = static_cast<float>(
          (double{bin.value} * bin.count + double{other.value} * other.count) /
          count);
      bin.count = static_cast<float>(count);
    }
    bins_[kept++] = bin;
  }
  bins_.resize(kept);
}

RealRange SeenValues::Percentile(int64_t kept_ppm) const {
  if (kept_ppm >= kWhole) return all_;  // Not all values are counted.
  double count = 0;
  for (const Bin& bin : bins_) count += bin.count;
  const double dropped =
      count * (kWhole - static_cast<double>(kept_ppm)) / (2 * kWhole);
  RealRange kept = all_;
  double below = 0;
  for (const Bin& bin : bins_) {
    below += bin.count;
    if (below > dropped) {
      kept.low = std::max(all_.low, bin.value - bin_width_ / 2);
      break;
    }
  }
  double above = 0;
  for (auto bin = bins_.rbegin(); bin != bins_.rend(); ++bin) {
    above += bin->count;
    if (above > dropped) {
      kept.high = std::min(all_.high, bin->value + bin_width_ / 2);
      break;
    }
  }
  return kept;
}

// Migacz, "8-bit inference with TensorRT" (GTC 2017): of the thresholds on
// magnitudes, the one whose values, those beyond counted at it, diverge least
// from the same in as many levels as there are.
RealRange SeenValues::LeastDivergence(int levels) const {
  const double largest =
      std::max(-double{bins_.front().value}, double{bins_.back().value});
  if (!(largest > 0) || !(bin_width_ > 0)) return all_;
  const bool two_sided = all_.low < 0 && all_.high > 0;
  if (two_sided) levels /= 2;
  const int count =
      static_cast<int>(std::min(std::ceil(largest / bin_width_), 1e6));
  std::vector<double> bins(static_cast<size_t>(std::max(count, 1)), 0);
  for (const Bin& bin : bins_) {
    const auto i =
        static_cast<size_t>(std::abs(double{bin.value}) / bin_width_);
    bins[std::min(i, bins.size() - 1)] += bin.count;
  }
  const auto all = static_cast<int>(bins.size());
  // What a ReLU leaves at zero is no part of the shape.
  bins[0] = 0;
  double total = 0;
  for (const double bin : bins) total += bin;
  if (!(total > 0)) return all_;
  double least = std::numeric_limits<double>::infinity();
  int best = all;
  for (int kept = all; kept >= levels; kept -= std::max(1, all / kThresholds)) {
    double beyond = 0;
    for (int i = kept; i < all; ++i) beyond += bins[i];
    // All that is kept, and what is cut off in the last bin.
    if (!(total - beyond > 0)) break;
    double divergence = 0;
    if (bins[kept - 1] == 0 && beyond > 0) {
      // Nothing of the kept distribution stands for it.
      continue;
    }
    for (int level = 0; level < levels; ++level) {
      const int first = static_cast<int>(int64_t{level} * kept / levels);
      const int last = static_cast<int>(int64_t{level + 1} * kept / levels);
      double sum = 0;
      int used = 0;
      for (int i = first; i < last; ++i) {
        sum += bins[i];
        used += bins[i] > 0 ? 1 : 0;
      }
      if (used == 0) continue;
      const double share = sum / used / (total - beyond);
      for (int i = first; i < last; ++i) {
        const double here = bins[i] + (i == kept - 1 ? beyond : 0);
        if (bins[i] > 0) {
          divergence += here / total * ops::Log(here / total / share);
        }
      }
    }
    if (divergence < least) {
      least = divergence;
      best = kept;
    }
  }
  if (best == all) return all_;
  const double threshold = best * bin_width_;
  return {std::max(all_.low, -threshold), std::min(all_.high, threshold)};
}

RealRange SeenValues::Kept(const v1::CalibrateOptions& method,
                           v1::ElementType type) const {
  RealRange kept = all_;
  if (!uncounted_ && !bins_.empty()) {
    switch (method.method()) {
      case v1::CalibrateOptions::METHOD_UNSPECIFIED:
      case v1::CalibrateOptions::OUTPUT_MSE:
      case v1::CalibrateOptions::PERCENTILE:
        kept =
            Percentile(method.percentile_ppm() == 0 ? kDefaultPercentilePpm
                                                    : method.percentile_ppm());
        break;
      case v1::CalibrateOptions::KL:
        kept = LeastDivergence(ops::RangeOf(type).max - ops::RangeOf(type).min +
                               1);
        break;
      default:
        break;
    }
  }
  if (method.method() == v1::CalibrateOptions::MOVING_AVERAGE) kept = average_;
  if (whole_.low < whole_.high) kept.Include(whole_);
  return kept;
}

double SeenValues::SquaredError(const Quantization& quantization,
                                v1::ElementType type) const {
  const double least = ops::RangeOf(type).min;
  const double most = ops::RangeOf(type).max;
  const double scale = quantization.scale[0];
  const double zero = quantization.zero_point[0];
  double sum = 0;
  for (const Bin& bin : bins_) {
    const double q =
        std::clamp(static_cast<double>(RoundHalfAway(bin.value / scale)) + zero,
                   least, most);
    const double error = bin.value - scale * (q - zero);
    sum += bin.count * error * error;
  }
  return sum;
}

Quantization SeenValues::LeastSquares(ScaleRules rules) const {
  RealRange range = all_;
  range.Include({0, 0});
  const auto holding = [&](RealRange kept) {
    if (whole_.low < whole_.high) kept.Include(whole_);
    return kept;
  };
  const auto error = [&](const RealRange& kept) {
    return SquaredError(ActivationQuantization(kept, rules), rules.activations);
  };
  if (rules.power_of_two) {
    Quantization best = ActivationQuantization(range, rules);
    double least = SquaredError(best, rules.activations);
    for (int i = 1; i <= kPowersOfTwo; ++i) {
      const double factor = std::ldexp(1, -i);
      const Quantization narrower = ActivationQuantization(
          holding({range.low * factor, range.high * factor}), rules);
      const double here = SquaredError(narrower, rules.activations);
      if (here >= least) continue;
      least = here;
      best = narrower;
    }
    return best;
  }
  if (rules.symmetric || rules.activations == v1::INT16 || range.low == 0 ||
      range.high == 0) {
    const auto scaled = [&](double factor) {
      return holding({range.low * factor, range.high * factor});
    };
    return ActivationQuantization(scaled(BestFactor(scaled, error)), rules);
  }
  // Both ends alone, the one after the other, twice.
  double low = 1;
  double high = 1;
  for (int round = 0; round < 2; ++round) {
    const auto with_high = [&](double factor) {
      return holding({range.low * low, range.high * factor});
    };
    high = BestFactor(with_high, error);
    const auto with_low = [&](double factor) {
      return holding({range.low * factor, range.high * high});
    };
    low = BestFactor(with_low, error);
  }
  return ActivationQuantization(holding({range.low * low, range.high * high}),
                                rules);
}

Quantization SeenValues::QuantizationFor(const v1::CalibrateOptions& method,
                                         ScaleRules rules) const {
  if (method.method() != v1::CalibrateOptions::MSE || uncounted_ ||
      bins_.empty()) {
    return ActivationQuantization(Kept(method, rules.activations), rules);
  }
  return LeastSquares(rules);
}

double SeenValues::ShareOutside(const Quantization& quantization,
                                v1::ElementType type) const {
  const ops::QuantizedRange integers = ops::RangeOf(type);
  const double scale = quantization.scale[0];
  const double low = scale * (integers.min - 0.5 - quantization.zero_point[0]);
  const double high = scale * (integers.max + 0.5 - quantization.zero_point[0]);
  double count = 0;
  double outside = 0;
  for (const Bin& bin : bins_) {
    count += bin.count;
    if (bin.value < low || bin.value > high) outside += bin.count;
  }
  return count > 0 ? outside / count : 0;
}

double SeenValues::CutOff(const Quantization& quantization,
                          v1::ElementType type) const {
  const RealRange held = RangeHeldBy(quantization, type);
  double count = 0;
  double sum = 0;
  for (const Bin& bin : bins_) {
    count += bin.count;
    const double beyond =
        bin.value - std::clamp(double{bin.value}, held.low, held.high);
    sum += bin.count * beyond * beyond;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace edgekiln::compiler
