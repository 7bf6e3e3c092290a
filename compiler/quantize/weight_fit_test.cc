#include "compiler/quantize/weight_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

double Uniform(Rng& rng) {
  return static_cast<double>(rng.Next() >> 11) * 0x1p-52 - 1;
}

// Of `patches` random patches whose elements go along with each other.
InputMoments Moments(Rng& rng, int64_t size, int64_t patches) {
  InputMoments moments;
  moments.blocks.push_back(
      {0, size, std::vector<double>(static_cast<size_t>(size * size), 0)});
  std::vector<double>& m = moments.blocks[0].moments;
  for (int64_t p = 0; p < patches; ++p) {
    const double common = 3 * Uniform(rng);
    std::vector<double> x;
    for (int64_t i = 0; i < size; ++i) x.push_back(common + Uniform(rng));
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) m[i * size + j] += x[i] * x[j];
    }
  }
  for (int64_t i = 0; i < size; ++i) m[i * size + i] += 0.01;
  return moments;
}

double Error(const FittedChannel& channel, const InputMoments& moments,
             double scale) {
  const InputMoments::Block& block = moments.blocks[0];
  double error = 0;
  for (int64_t i = 0; i < block.size; ++i) {
    for (int64_t j = 0; j < block.size; ++j) {
      error += (channel.weights[i] - scale * channel.integers[i]) *
               (channel.weights[j] - scale * channel.integers[j]) *
               block.moments[i * block.size + j];
    }
  }
  return error;
}

FittedChannel Channel(Rng& rng, int64_t size, const InputMoments* moments) {
  FittedChannel channel;
  for (int64_t i = 0; i < size; ++i) channel.weights.push_back(Uniform(rng));
  channel.moments = moments;
  return channel;
}

TEST(WeightFitTest, AdaptiveIsNeverWorseThanNearest) {
  Rng rng(1);
  double nearest_sum = 0;
  double adaptive_sum = 0;
  for (int round = 0; round < 200; ++round) {
    const int64_t size = 1 + static_cast<int64_t>(rng.Next() % 24);
    const InputMoments moments = Moments(rng, size, 40);
    FittedChannel nearest = Channel(rng, size, &moments);
    FittedChannel adaptive = nearest;
    const float scale = FitWeights({}, absl::MakeSpan(&nearest, 1));
    ASSERT_EQ(FitWeights({.adaptive = true}, absl::MakeSpan(&adaptive, 1)),
              scale);
    const double before = Error(nearest, moments, scale);
    const double after = Error(adaptive, moments, scale);
    EXPECT_LE(after, before * (1 + 1e-9));
    nearest_sum += before;
    adaptive_sum += after;
    for (int64_t i = 0; i < size; ++i) {
      EXPECT_LE(std::abs(adaptive.weights[i] / scale - adaptive.integers[i]),
                1 + 1e-6);
    }
  }
  EXPECT_LT(adaptive_sum, 0.5 * nearest_sum);
}

// Of all ways to round up or down, one that is near the best.
TEST(WeightFitTest, AdaptiveIsNearTheBestRounding) {
  Rng rng(2);
  double best_sum = 0;
  double ours_sum = 0;
  for (int round = 0; round < 60; ++round) {
    const int64_t size = 6;
    const InputMoments moments = Moments(rng, size, 20);
    FittedChannel ours = Channel(rng, size, &moments);
    const float scale =
        FitWeights({.adaptive = true}, absl::MakeSpan(&ours, 1));
    double best = Error(ours, moments, scale);
    ours_sum += best;
    for (int up = 0; up < 1 << size; ++up) {
      FittedChannel other = ours;
      for (int64_t i = 0; i < size; ++i) {
        other.integers[i] = static_cast<int8_t>(
            std::floor(ours.weights[i] / scale) + (up >> i & 1));
      }
      best = std::min(best, Error(other, moments, scale));
    }
    best_sum += best;
  }
  EXPECT_LE(ours_sum, 2 * best_sum);
}

TEST(WeightFitTest, FewerBitsStayWithinTheirIntegers) {
  Rng rng(3);
  for (const v1::LayerScheme::Weights form :
       {v1::LayerScheme::INT4, v1::LayerScheme::TERNARY}) {
    for (const bool adaptive : {false, true}) {
      const InputMoments moments = Moments(rng, 40, 100);
      FittedChannel plain = Channel(rng, 40, &moments);
      FittedChannel fitted = plain;
      const float plain_scale =
          FitWeights({.form = form, .range = v1::LARGEST_WEIGHT},
                     absl::MakeSpan(&plain, 1));
      const float scale = FitWeights(
          {.form = form, .range = v1::LEAST_OUTPUT_ERROR, .adaptive = adaptive},
          absl::MakeSpan(&fitted, 1));
      for (const int8_t q : fitted.integers) {
        EXPECT_LE(std::abs(q), LargestInteger(form));
      }
      EXPECT_LT(Error(fitted, moments, scale),
                Error(plain, moments, plain_scale));
    }
  }
}

// What is larger than anything else is cut off where the input there is small.
TEST(WeightFitTest, ScalesFollowWhatInputsShow) {
  InputMoments moments;
  moments.blocks.push_back({0, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1e-9}});
  FittedChannel channel;
  channel.weights = {0.5, -0.3, 1.0};
  channel.moments = &moments;
  EXPECT_NEAR(
      FitWeights({.range = v1::LARGEST_WEIGHT}, absl::MakeSpan(&channel, 1)),
      1.0 / 127, 1e-6);
  EXPECT_LT(FitWeights({.range = v1::LEAST_OUTPUT_ERROR},
                       absl::MakeSpan(&channel, 1)),
            0.7 / 127);
  EXPECT_EQ(channel.integers[2], 127);
}

TEST(WeightFitTest, OneScaleServesAllChannels) {
  FittedChannel channels[2];
  channels[0].weights = {1, -0.5};
  channels[1].weights = {0.25, 0.1};
  const float scale = FitWeights({}, absl::MakeSpan(channels));
  EXPECT_NEAR(scale, 1.0 / 127, 1e-6);
  EXPECT_EQ(channels[1].integers[0], 32);
}

TEST(WeightFitTest, PowersOfTwo) {
  FittedChannel channel;
  channel.weights = {1.01, -0.5};
  for (int i = 0; i < 100; ++i) channel.weights.push_back(0.001 * i);
  const float whole =
      FitWeights({.power_of_two = true}, absl::MakeSpan(&channel, 1));
  EXPECT_EQ(whole, 0x1p-6f);
  const float fitted =
      FitWeights({.range = v1::LEAST_WEIGHT_ERROR, .power_of_two = true},
                 absl::MakeSpan(&channel, 1));
  EXPECT_EQ(fitted, 0x1p-7f);  // Cuts 1.01 to 127/128, and rounds finer.
}

TEST(WeightFitTest, NoWeightsHaveAScale) {
  FittedChannel empty;
  EXPECT_GT(FitWeights({.range = v1::LEAST_OUTPUT_ERROR, .adaptive = true},
                       absl::MakeSpan(&empty, 1)),
            0);
  EXPECT_GT(FitWeights({}, {}), 0);
}

// Of few integers errors are found for all scales at once.
TEST(WeightFitTest, TheScaleOfFewIntegersHasTheLeastError) {
  Rng rng(7);
  for (const auto form : {v1::LayerScheme::TERNARY, v1::LayerScheme::INT4}) {
    for (int round = 0; round < 50; ++round) {
      const int64_t size = 1 + static_cast<int64_t>(rng.Next() % 40);
      const InputMoments moments = Moments(rng, size, 30);
      const bool weighted = round % 2 == 0;
      FittedChannel channel = Channel(rng, size, &moments);
      if (round % 5 == 0) channel.least_scale = 0.05;
      if (round % 7 == 0) channel.weights[0] = 0;
      WeightFitOptions options = {
          .form = form,
          .range = weighted ? v1::LEAST_OUTPUT_ERROR : v1::LEAST_WEIGHT_ERROR,
          .power_of_two = round % 3 == 0};
      const double limit = LargestInteger(form);
      const auto error_with = [&](double scale) {
        double error = 0;
        for (int64_t j = 0; j < size; ++j) {
          const double q = std::clamp<double>(
              std::round(channel.weights[j] / scale), -limit, limit);
          const double d = channel.weights[j] - scale * q;
          error += d * d *
                   (weighted ? moments.blocks[0].moments[j * size + j] : 1.0);
        }
        return error;
      };
      FittedChannel fitted = channel;
      const float scale = FitWeights(options, absl::MakeSpan(&fitted, 1));
      double largest = 0;
      for (const double weight : channel.weights) {
        largest = std::max(largest, std::abs(weight));
      }
      // Scales from the largest weight on down, and no worse than any of them.
      for (int i = 0; i <= 50; ++i) {
        double tried = largest / limit * (1 - 0.0175 * i);
        if (options.power_of_two) {
          tried = std::exp2(std::ceil(std::log2(tried)) - i / 10);
        }
        tried = std::max(tried, channel.least_scale);
        if (options.power_of_two)
          tried = std::exp2(std::ceil(std::log2(tried)));
        EXPECT_LE(error_with(scale), error_with(static_cast<float>(tried)) *
                                             (i == 0 ? 1.0 : 1.0102) +
                                         1e-9)
            << size << " " << i << " " << round;
      }
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
