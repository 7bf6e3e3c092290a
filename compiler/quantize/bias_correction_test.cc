#include "compiler/quantize/bias_correction.h"

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

}  // namespace
}  // namespace edgekiln::compiler
