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
  // Two of 0, two bins empty, one of 3, ..
  EXPECT_EQ(
      std::vector<uint64_t>(bins.positive().begin(), bins.positive().end()),
      (std::vector<uint64_t>{2, 0, 2, 1, 0, 996, 1}));
  EXPECT_EQ(
      std::vector<uint64_t>(bins.negative().begin(), bins.negative().end()),
      (std::vector<uint64_t>{0, 1000, 1}));
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
  // 100 lies in a bin that is not empty, as all around it do.
  EXPECT_NE(many.ToProto().SerializeAsString(), want.SerializeAsString());
  few.Add({100});
  EXPECT_EQ(many.ToProto().SerializeAsString(),
            few.ToProto().SerializeAsString());
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
