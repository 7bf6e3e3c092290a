#include "compiler/quantize/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

v1::Clamp Relu() {
  v1::Clamp clamp;
  clamp.set_min(0);
  return clamp;
}

TEST(BiasCorrectionTest, TakesUpTheMean) {
  BiasCorrection correction({}, kAll, 2, 3);
  const float real[] = {1, 10, 2, 20, 3, 30};
  const int32_t sums[] = {2, 5, 5, 11, 5, 14};  // Steps of 0.5 and 2.
  correction.AddReal(0, 3, real);
  correction.AddSums(0, 3, sums, {0.5, 2});
  const std::vector<double> missing = correction.Missing();
  EXPECT_DOUBLE_EQ(missing[0], 0);
  EXPECT_DOUBLE_EQ(missing[1], 0);
  BiasCorrection other({}, kAll, 2, 3);
  other.AddReal(0, 3, real);
  other.AddSums(0, 3, sums, {1, 1}, /*more=*/{1, 1});
  EXPECT_DOUBLE_EQ(other.Missing()[0], 2 - (12.0 / 3 - 1));
  EXPECT_DOUBLE_EQ(other.Missing()[1], 20 - (30.0 / 3 - 1));
}

// Most values are far below 0 and off by 7; those that pass are off by 1.
TEST(BiasCorrectionTest, WhatAReluShutsDoesNotCount) {
  std::vector<float> real(100, -50);
  std::vector<int32_t> sums(100, -57);
  for (int i = 0; i < 10; ++i) {
    real[i * 10] = 5;
    sums[i * 10] = 6;
  }
  for (const bool relu : {false, true}) {
    BiasCorrection correction(relu ? Relu() : v1::Clamp(), kAll, 1, 100);
    correction.AddReal(0, 100, real.data());
    correction.AddSums(0, 100, sums.data(), {1});
    EXPECT_NEAR(correction.Missing()[0], relu ? -1 : 6.2, 1e-6);
  }
}

// Before a softmax: the second score is 40 below the first but once.
TEST(BiasCorrectionTest, ScoresFarBelowTheLargestDoNotCount) {
  const float real[] = {40, 0, 40, 0, 40, 0, 1, 2};
  const int32_t sums[] = {40, -9, 40, -9, 40, -9, 1, 3};
  for (const double below : {kAll, 10.0}) {
    BiasCorrection correction({}, below, 2, 4);
    correction.AddReal(0, 4, real);
    correction.AddSums(0, 4, sums, {1, 1});
    EXPECT_NEAR(correction.Missing()[1], below == kAll ? 6.5 : -1, 1e-6);
  }
}

// Where a correction makes clamped results no better, there is none.
TEST(BiasCorrectionTest, NeverMakesItWorse) {
  const float real[] = {-1, -1, -1, 8};
  const int32_t sums[] = {-1, -1, 2, 8};
  BiasCorrection correction(Relu(), kAll, 1, 4);
  correction.AddReal(0, 4, real);
  correction.AddSums(0, 4, sums, {1});
  const double missing = correction.Missing()[0];
  const auto error = [&](double shift) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      const double d = std::max(real[i], 0.0f) - std::max(sums[i] + shift, 0.0);
      sum += d * d;
    }
    return sum;
  };
  EXPECT_LE(error(missing), error(0));
}

// Channels are added up some at a time, the last ones one by one.
TEST(BiasCorrectionTest, ChannelsDoNotDependOnEachOther) {
  constexpr int64_t kChannels = 7;
  constexpr int64_t kRows = 150;
  v1::Clamp clamp = Relu();
  clamp.set_max(6);
  std::vector<float> reals;
  std::vector<int32_t> sums;
  for (int64_t i = 0; i < kRows * kChannels; ++i) {
    const auto eighths = static_cast<int32_t>(i * 37 % 101) - 40;
    reals.push_back(static_cast<float>(eighths) / 8);
    // Off by a little, and in each channel by something of its own.
    sums.push_back(eighths + static_cast<int32_t>(i % 5 + i % kChannels) + 3);
  }
  const std::vector<double> steps(kChannels, 0.125);
  BiasCorrection together(clamp, kAll, kChannels, kRows);
  together.AddReal(0, kRows, reals.data());
  together.AddSums(0, kRows, sums.data(), steps);
  const std::vector<double> missing = together.Missing();
  for (int64_t c = 0; c < kChannels; ++c) {
    BiasCorrection alone(clamp, kAll, 1, kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      alone.AddReal(row, 1, &reals[row * kChannels + c]);
    }
    for (int64_t row = 0; row < kRows; ++row) {
      alone.AddSums(row, 1, &sums[row * kChannels + c], {steps.data(), 1});
    }
    EXPECT_NE(missing[c], 0);
    EXPECT_EQ(missing[c], alone.Missing()[0]) << c;
  }
}

// What is looked at before a softmax, channel by channel, as
// BiasCorrection::Missing() says it.
std::vector<double> MissingBelowLargest(const std::vector<double>& real,
                                        const std::vector<double>& ours,
                                        size_t channels, double below) {
  const size_t rows = real.size() / channels;
  std::vector<double> missing;
  for (size_t c = 0; c < channels; ++c) {
    double shift = 0, best = 0, chance = 0;
    double least = kAll;
    for (int round = 0; round <= 3; ++round) {
      double errors = 0, sum = 0, squares = 0, count = 0;
      for (size_t row = 0; row < rows; ++row) {
        const double* scores = &real[row * channels];
        const double low = *std::max_element(scores, scores + channels) - below;
        const double wanted = scores[c];
        const double got = ours[row * channels + c] + shift;
        const double error = std::max(wanted, low) - std::max(got, low);
        errors += error * error;
        if (wanted <= low && got <= low) continue;
        sum += wanted - got;
        squares += (wanted - got) * (wanted - got);
        count += 1;
      }
      if (errors < least) {
        least = errors;
        best = shift;
        chance = count > 0 ? squares / (count * count) : 0;
      }
      if (count > 0) shift += sum / count;
    }
    if (best != 0) best *= std::max(0.0, 1 - 4 * chance / (best * best));
    missing.push_back(best);
  }
  return missing;
}

// Six channels, of which four are added up side by side.
TEST(BiasCorrectionTest, LargestScoresOfManyChannels) {
  constexpr int64_t kChannels = 6;
  constexpr int64_t kRows = 150;
  std::vector<float> reals;
  std::vector<int32_t> sums;
  std::vector<double> exact, ours;
  for (int64_t i = 0; i < kRows * kChannels; ++i) {
    const auto eighths = static_cast<int32_t>(i * 37 % 101) - 40;
    // Far below the largest, scores are off by much more.
    const int32_t off =
        static_cast<int32_t>(i % 3 + i % kChannels) + (eighths < 10 ? 30 : 3);
    reals.push_back(static_cast<float>(eighths) / 8);
    sums.push_back(eighths + off);
    exact.push_back(reals.back());
    ours.push_back(sums.back() * 0.125);
  }
  BiasCorrection correction({}, 3, kChannels, kRows);
  correction.AddReal(0, kRows, reals.data());
  correction.AddSums(0, kRows, sums.data(),
                     std::vector<double>(kChannels, 0.125));
  const std::vector<double> missing = correction.Missing();
  const std::vector<double> want =
      MissingBelowLargest(exact, ours, kChannels, 3);
  const std::vector<double> all =
      MissingBelowLargest(exact, ours, kChannels, 1000);
  for (int64_t c = 0; c < kChannels; ++c) {
    EXPECT_DOUBLE_EQ(missing[c], want[c]) << c;
    EXPECT_GT(std::abs(missing[c] - all[c]), 0.1) << c;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
