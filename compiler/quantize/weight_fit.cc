#include "compiler/quantize/weight_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/quantize/value_kernels.h"

namespace edgekiln::compiler {
namespace {

constexpr int kRounds = 8;
// Scales that are tried below the one that clips nothing, as parts of it.
constexpr int kSteps = 50;
constexpr double kStep = 0.01;        // int8
constexpr double kWideStep = 0.0175;  // Fewer bits clip more.
constexpr int kPowersOfTwo = 4;
// Clipping has to be better by this much.
constexpr double kWorthClipping = 0.99;
// How often scale and integers are fitted to each other, below 8 bits.
constexpr int kRefits = 3;

// RoundHalfAway() of weight / scale within the limits; without branches.
int32_t Rounded(double weight, double scale, int32_t limit) {
  const double steps = weight / scale;
  const double magnitude = std::min(std::abs(steps), limit + 1.0) + 0.5;
  const int32_t rounded = std::min(static_cast<int32_t>(magnitude), limit);
  return steps < 0 ? -rounded : rounded;
}

// Of element j; 1 without moments.
class Diagonal {
 public:
  Diagonal(const FittedChannel& channel, bool weighted) {
    of_.resize(channel.weights.size(), 1.0);
    if (!weighted || channel.moments == nullptr) return;
    for (const InputMoments::Block& block : channel.moments->blocks) {
      for (int64_t i = 0; i < block.size; ++i) {
        of_[block.first + i] = block.moments[i * block.size + i];
      }
    }
  }
  double operator[](size_t j) const { return of_[j]; }

 private:
  std::vector<double> of_;
};

class Fit {
 public:
  Fit(const WeightFitOptions& options, absl::Span<FittedChannel> channels)
      : options_(options),
        channels_(channels),
        limit_(LargestInteger(options.form)) {
    for (const FittedChannel& channel : channels_) {
      least_ = std::max(least_, channel.least_scale);
      for (const double weight : channel.weights) {
        largest_ = std::max(largest_, std::abs(weight));
      }
      diagonals_.emplace_back(channel, options.range == v1::LEAST_OUTPUT_ERROR);
    }
  }

  float Run() {
    float scale = AsScale(BestScale());
    for (FittedChannel& channel : channels_) RoundChannel(channel, scale);
    if (limit_ == LargestInteger(v1::LayerScheme::INT8)) return scale;
    for (int i = 0; i < kRefits && !options_.power_of_two; ++i) {
      const float refitted = AsScale(LeastSquaresScale(scale));
      if (refitted == scale) break;
      scale = refitted;
      for (FittedChannel& channel : channels_) RoundChannel(channel, scale);
    }
    return scale;
  }

 private:
  float AsScale(double scale) const {
    return RoundedScale(std::max(scale, least_),
                        {.power_of_two = options_.power_of_two});
  }

  // By scale, none of which is larger than the one before it.
  std::vector<double> Errors(const std::vector<double>& scales) const {
    if (limit_ != LargestInteger(v1::LayerScheme::INT8)) {
      return ErrorsOfFewIntegers(scales);
    }
    std::vector<double> errors;
    for (const double scale : scales) {
      double error = 0;
      for (size_t c = 0; c < channels_.size(); ++c) {
        const std::vector<double>& weights = channels_[c].weights;
        for (size_t j = 0; j < weights.size(); ++j) {
          const double d =
              weights[j] - scale * Rounded(weights[j], scale, limit_);
          error += d * d * diagonals_[c][j];
        }
      }
      errors.push_back(error);
    }
    return errors;
  }

  // A weight w becomes an integer q that grows by one where the scale s gets
  // small enough: sums of (|w| - s q)^2 = w^2 - 2 s |w| q + s^2 q^2 change
  // there only, which takes one look at each weight for all scales.
  std::vector<double> ErrorsOfFewIntegers(
      const std::vector<double>& scales) const {
    const size_t count = scales.size();
    double squares = 0;
    std::vector<double> products(count, 0);  // Of |w|: by which they grow.
    std::vector<double> integers(count, 0);  // Of q^2.
    const double first = scales.front();
    const double steps_of =
        first > scales.back()
            ? static_cast<double>(count - 1) / (first - scales.back())
            : 0;
    for (size_t c = 0; c < channels_.size(); ++c) {
      const std::vector<double>& weights = channels_[c].weights;
      for (size_t j = 0; j < weights.size(); ++j) {
        const double weight = std::abs(weights[j]);
        const double factor = diagonals_[c][j];
        squares += factor * weight * weight;
        for (int32_t q = 1; q <= limit_; ++q) {
          const auto reaches = [&](size_t i) {
            return Rounded(weight, scales[i], limit_) >= q;
          };
          // Where it is if scales fall evenly, then where it is.
          const double guess = (first - weight / (q - 0.5)) * steps_of;
          auto at = static_cast<size_t>(
              std::clamp(guess + 1, 0.0, static_cast<double>(count)));
          while (at > 0 && reaches(at - 1)) --at;
          while (at < count && !reaches(at)) ++at;
          if (at == count) break;
          products[at] += factor * weight;
          integers[at] += factor * (2 * q - 1);
        }
      }
    }
    std::vector<double> errors;
    double product = 0;
    double integer = 0;
    for (size_t i = 0; i < count; ++i) {
      product += products[i];
      integer += integers[i];
      errors.push_back(squares - 2 * scales[i] * product +
                       scales[i] * scales[i] * integer);
    }
    return errors;
  }

  double BestScale() const {
    const double whole = largest_ / limit_;
    if (options_.range == v1::LARGEST_WEIGHT || !(whole > 0)) return whole;
    const double step =
        limit_ == LargestInteger(v1::LayerScheme::INT8) ? kStep : kWideStep;
    const int steps = options_.power_of_two ? kPowersOfTwo : kSteps;
    std::vector<double> scales = {whole};
    std::vector<double> rounded = {AsScale(whole)};
    for (int i = 1; i <= steps; ++i) {
      scales.push_back(
          whole * (options_.power_of_two ? std::ldexp(1, -i) : 1 - step * i));
      rounded.push_back(AsScale(scales.back()));
    }
    const std::vector<double> errors = Errors(rounded);
    size_t best = 0;
    double least = errors[0] * (options_.power_of_two ? 1 : kWorthClipping);
    for (size_t i = 1; i < errors.size(); ++i) {
      if (errors[i] >= least) continue;
      least = errors[i];
      best = i;
    }
    return scales[best];
  }

  // Of the integers that there are.
  double LeastSquaresScale(double scale) const {
    double product = 0;
    double square = 0;
    for (size_t c = 0; c < channels_.size(); ++c) {
      const FittedChannel& channel = channels_[c];
      for (size_t j = 0; j < channel.weights.size(); ++j) {
        const double q = channel.integers[j];
        product += channel.weights[j] * q * diagonals_[c][j];
        square += q * q * diagonals_[c][j];
      }
    }
    return square > 0 && product > 0 ? product / square : scale;
  }

  void RoundChannel(FittedChannel& channel, double scale) const {
    channel.integers.resize(channel.weights.size());
    for (size_t j = 0; j < channel.weights.size(); ++j) {
      channel.integers[j] =
          static_cast<int8_t>(Rounded(channel.weights[j], scale, limit_));
    }
    if (!options_.adaptive || channel.moments == nullptr) return;
    for (const InputMoments::Block& block : channel.moments->blocks) {
      Adapt(block, channel, scale);
    }
  }

  // Coordinate descent on u' M u, u the errors in steps of the scale.
  void Adapt(const InputMoments::Block& block, FittedChannel& channel,
             double scale) const {
    const bool fine = limit_ == LargestInteger(v1::LayerScheme::INT8);
    const int64_t size = block.size;
    const double* m = block.moments.data();
    int8_t* q = channel.integers.data() + block.first;
    const double* w = channel.weights.data() + block.first;
    std::vector<double> u(static_cast<size_t>(size));
    std::vector<double> gradient(static_cast<size_t>(size), 0.0);
    for (int64_t i = 0; i < size; ++i) {
      u[i] = q[i] - w[i] / scale;
      if (u[i] == 0) continue;
      kernels_.add_scaled(m + i * size, u[i], gradient.size(), gradient.data());
    }
    for (int round = 0; round < kRounds; ++round) {
      bool moved = false;
      for (int64_t i = 0; i < size; ++i) {
        const double wanted = -gradient[i] / m[i * size + i];
        if (std::abs(wanted) <= 0.5) continue;
        int64_t step = RoundHalfAway(std::clamp(wanted, -300.0, 300.0));
        if (fine) {
          // To the integer on the other side of the real weight.
          if (std::abs(u[i] + static_cast<double>(step > 0 ? 1 : -1)) > 1) {
            continue;
          }
          step = step > 0 ? 1 : -1;
        }
        const int64_t to = std::clamp<int64_t>(q[i] + step, -limit_, limit_);
        const auto delta = static_cast<double>(to - q[i]);
        // Less than half of what was wanted moves too far, or not at all.
        if (delta == 0 || std::abs(delta) > 2 * std::abs(wanted)) continue;
        q[i] = static_cast<int8_t>(to);
        u[i] += delta;
        moved = true;
        kernels_.add_scaled(m + i * size, delta, gradient.size(),
                            gradient.data());
      }
      if (!moved) break;
    }
  }

  const WeightFitOptions& options_;
  const ValueKernels& kernels_ = ValueKernelsFor(ops::CpuPath::kAuto);
  absl::Span<FittedChannel> channels_;
  const int32_t limit_;
  std::vector<Diagonal> diagonals_;
  double largest_ = 0;
  double least_ = 0;
};

}  // namespace

int32_t LargestInteger(v1::LayerScheme::Weights form) {
  switch (form) {
    case v1::LayerScheme::TERNARY:
      return 1;
    case v1::LayerScheme::INT4:
      return 7;
    default:
      return 127;
  }
}

float FitWeights(const WeightFitOptions& options,
                 absl::Span<FittedChannel> channels) {
  return Fit(options, channels).Run();
}

}  // namespace edgekiln::compiler
