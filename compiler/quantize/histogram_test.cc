#include "compiler/quantize/histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::vector<float> Ramp(int low, int high) {
  std::vector<float> values;
  for (int i = low; i < high; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(HistogramTest, CountsValuesByBin) {
  Histogram histogram;
  histogram.Add({0, 0, 1000, -1000, 3.5f});
  const v1::CalibrationStatistics::Histogram bins = histogram.ToProto();
  const double width = std::ldexp(1, bins.width_exponent());
  EXPECT_EQ(width, 1);  // 1024 bins just hold 1000.
  ASSERT_EQ(bins.positive_size(), 1001);
  ASSERT_EQ(bins.negative_size(), 1001);
  EXPECT_EQ(bins.positive(0), 2);
  EXPECT_EQ(bins.positive(3), 1);
  EXPECT_EQ(bins.positive(1000), 1);
  EXPECT_EQ(bins.negative(1000), 1);
  EXPECT_EQ(bins.negative(0), 0);
}

TEST(HistogramTest, NothingHasNoBins) {
  EXPECT_EQ(Histogram().ToProto().positive_size(), 0);
}

// The first values are not counted yet: one more, and they are.
TEST(HistogramTest, FewValuesAreCountedAsMany) {
  std::vector<float> values = Ramp(-100, Histogram::kFewValues - 100);
  values[5] = 1e-6f;
  Histogram few;
  few.Add(values);
  Histogram many;
  many.Add(values);
  many.Add({100});
  EXPECT_LT(few.bytes(), 2'000);
  EXPECT_GT(many.bytes(), 8'000);
  EXPECT_LT(many.bytes(), 10'000);
  v1::CalibrationStatistics::Histogram want = few.ToProto();
  const int bin =
      static_cast<int>(100 / std::ldexp(1, want.width_exponent()));
  want.set_positive(bin, want.positive(bin) + 1);
  EXPECT_EQ(many.ToProto().SerializeAsString(), want.SerializeAsString());
}

TEST(HistogramTest, OrderDoesNotMatter) {
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) {
    const float value = static_cast<float>(i * i % 9973) / 64 - 70;
    values.push_back(i % 7 == 0 ? value * 1e-6f : value);
  }
  Histogram forward;
  for (const float value : values) forward.Add({value});
  std::reverse(values.begin(), values.end());
  Histogram backward;
  backward.Add(values);
  EXPECT_EQ(forward.ToProto().SerializeAsString(),
            backward.ToProto().SerializeAsString());
}

}  // namespace
}  // namespace edgekiln::compiler
