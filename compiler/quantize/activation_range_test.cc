#include "compiler/quantize/activation_range.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/quantize/histogram.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::vector<float> Ramp(int low, int high) {
  std::vector<float> values;
  for (int i = low; i < high; ++i) values.push_back(static_cast<float>(i));
  return values;
}

// `values` with one far outside.
std::vector<float> With(std::vector<float> values, float outlier) {
  values.push_back(outlier);
  return values;
}

SeenValues Seen(const std::vector<float>& values) {
  Histogram histogram;
  histogram.Add(values);
  v1::CalibrationStatistics::TensorRange range;
  if (!values.empty()) {
    range.set_min(*std::min_element(values.begin(), values.end()));
    range.set_max(*std::max_element(values.begin(), values.end()));
  }
  range.set_average_min(range.min() / 2);
  range.set_average_max(range.max() / 2);
  *range.mutable_histogram() = histogram.ToProto();
  SeenValues seen;
  seen.Include(range);
  return seen;
}

v1::CalibrateOptions Method(v1::CalibrateOptions::Method method, int ppm = 0) {
  v1::CalibrateOptions options;
  options.set_method(method);
  options.set_percentile_ppm(ppm);
  return options;
}

struct KeptCase {
  const char* name;
  std::vector<float> values;
  v1::CalibrateOptions::Method method;
  int ppm;
  double low;
  double high;
};

class KeptTest : public testing::TestWithParam<KeptCase> {};

void PrintTo(const KeptCase& row, std::ostream* out) { *out << row.name; }

TEST_P(KeptTest, IsTheRange) {
  const KeptCase& row = GetParam();
  const RealRange kept = Seen(row.values).Kept(Method(row.method, row.ppm));
  EXPECT_NEAR(kept.low, row.low, 2.0);  // Bins are one or two wide.
  EXPECT_NEAR(kept.high, row.high, 2.0);
}

const KeptCase kCases[] = {
    {"Nothing", {}, v1::CalibrateOptions::PERCENTILE, 900'000, 0, 0},
    {"All", Ramp(-500, 1000), v1::CalibrateOptions::PERCENTILE, 1'000'000, -500,
     999},
    // 10 % of 1000 values, half of it at each end.
    {"BothEnds", Ramp(-500, 500), v1::CalibrateOptions::PERCENTILE, 900'000,
     -450, 449},
    {"PositiveOnly", Ramp(0, 1000), v1::CalibrateOptions::PERCENTILE, 900'000,
     50, 949},
    {"NegativeOnly", Ramp(-1000, 0), v1::CalibrateOptions::PERCENTILE, 900'000,
     -950, -51},
    {"OneOutlierIsCutOff", With(std::vector<float>(20'000, 1.0f), 900),
     v1::CalibrateOptions::PERCENTILE, 0, 1, 1},
    {"Extremes", With(std::vector<float>(20'000, 1.0f), 900),
     v1::CalibrateOptions::MIN_MAX, 0, 1, 900},
    {"Averages", Ramp(-500, 1000), v1::CalibrateOptions::MOVING_AVERAGE, 0,
     -250, 499.5},
    {"DivergenceKeepsWhatIsEven", Ramp(-1000, 1000), v1::CalibrateOptions::KL,
     0, -1000, 999},
};

INSTANTIATE_TEST_SUITE_P(All, KeptTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Levels that are too wide for where most values are cost more than a tail.
TEST(SeenValuesTest, DivergenceCutsOffAThinTail) {
  std::vector<float> values(100'000, 0.0f);  // Zeros do not count.
  for (int i = 1; i < 40'000; ++i) {
    values.push_back(static_cast<float>(-50 * std::log(i / 40'000.0)));
  }
  values.push_back(1000);
  const RealRange kept = Seen(values).Kept(Method(v1::CalibrateOptions::KL));
  EXPECT_LT(kept.high, 900);
  EXPECT_GE(kept.high, 250);
}

double Error(const std::vector<float>& values, const Quantization& by) {
  double sum = 0;
  for (const float value : values) {
    const double zero = by.zero_point[0];
    const double q = std::clamp(
        static_cast<double>(RoundHalfAway(value / by.scale[0])) + zero, -128.0,
        127.0);
    sum +=
        (value - by.scale[0] * (q - zero)) * (value - by.scale[0] * (q - zero));
  }
  return sum;
}

// No range that keeps a part of what was seen is much better.
TEST(SeenValuesTest, MseIsTheLeastError) {
  const std::vector<float> kValues[] = {
      With(Ramp(-300, 300), 2000), With(With(Ramp(0, 500), 1000), 3000),
      With(With(Ramp(-700, 20), -4000), 900), Ramp(-10, 10)};
  for (const std::vector<float>& values : kValues) {
    for (const bool symmetric : {false, true}) {
      const SeenValues seen = Seen(values);
      const ScaleRules rules = {.symmetric = symmetric};
      const double ours =
          Error(values,
                seen.QuantizationFor(Method(v1::CalibrateOptions::MSE), rules));
      double least = ours;
      for (int i = 1; i <= 40; ++i) {
        for (int j = 1; j <= 40; ++j) {
          const RealRange range = {seen.all().low * i / 40,
                                   seen.all().high * j / 40};
          least = std::min(least,
                           Error(values, ActivationQuantization(range, rules)));
        }
      }
      EXPECT_LE(ours, least * 1.1 + 1e-9) << values.size() << " " << symmetric;
    }
  }
}

TEST(SeenValuesTest, PowersOfTwoAreChosenByTheErrorToo) {
  const std::vector<float> values = With(Ramp(-100, 100), 130);
  const Quantization by =
      Seen(values).QuantizationFor(Method(v1::CalibrateOptions::MSE),
                                   {.symmetric = true, .power_of_two = true});
  EXPECT_EQ(by.scale[0], 1);  // 2 would hold 130.
  EXPECT_EQ(by.zero_point[0], 0);
}

TEST(SeenValuesTest, ConstantsAreHeldWhole) {
  SeenValues seen = Seen(With(std::vector<float>(20'000, 1.0f), 900));
  seen.IncludeWhole({-3, 50});
  for (const auto method :
       {v1::CalibrateOptions::PERCENTILE, v1::CalibrateOptions::MSE,
        v1::CalibrateOptions::KL}) {
    const Quantization by = seen.QuantizationFor(Method(method), {});
    EXPECT_GE(by.scale[0] * (127 - by.zero_point[0]), 49.9f);
    EXPECT_LE(by.scale[0] * (-128 - by.zero_point[0]), -2.9f);
  }
}

TEST(SeenValuesTest, CountsWhatSaturates) {
  const SeenValues seen = Seen(Ramp(0, 1000));
  const Quantization by = ActivationQuantization({0, 500});
  EXPECT_NEAR(seen.ShareOutside(by), 0.5, 0.01);
  EXPECT_EQ(seen.ShareOutside(ActivationQuantization({0, 999})), 0);
}

TEST(SeenValuesTest, WhatIsCutOffIsBeyondTheLastInteger) {
  // From -128 to 127: two of 100 values lie beyond, by 73 and by 172.
  const SeenValues seen = Seen(With(With(Ramp(-49, 49), 200), -300));
  const Quantization steps = {.scale = {1}, .zero_point = {0}, .axis = 0};
  EXPECT_NEAR(seen.CutOff(steps), (73.0 * 73 + 172.0 * 172) / 100, 5);
  EXPECT_EQ(seen.CutOff({.scale = {3}, .zero_point = {0}, .axis = 0}), 0);
  EXPECT_EQ(SeenValues().CutOff(steps), 0);
}

}  // namespace
}  // namespace edgekiln::compiler
