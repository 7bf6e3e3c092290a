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

  double Error(double scale) const {
    const double rounded = AsScale(scale);
    double error = 0;
    for (size_t c = 0; c < channels_.size(); ++c) {
      const std::vector<double>& weights = channels_[c].weights;
      for (size_t j = 0; j < weights.size(); ++j) {
        const double d =
            weights[j] - rounded * Rounded(weights[j], rounded, limit_);
        error += d * d * diagonals_[c][j];
      }
    }
    return error;
  }

  double BestScale() const {
    const double whole = largest_ / limit_;
    if (options_.range == v1::LARGEST_WEIGHT || !(whole > 0)) return whole;
    double best = whole;
    double least = Error(whole) * (options_.power_of_two ? 1 : kWorthClipping);
    const double step =
        limit_ == LargestInteger(v1::LayerScheme::INT8) ? kStep : kWideStep;
    const int steps = options_.power_of_two ? kPowersOfTwo : kSteps;
    for (int i = 1; i <= steps; ++i) {
      const double scale =
          whole * (options_.power_of_two ? std::ldexp(1, -i) : 1 - step * i);
      const double here = Error(scale);
      if (here >= least) continue;
      least = here;
      best = scale;
    }
    return best;
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
