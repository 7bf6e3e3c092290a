#include "compiler/quantize/histogram.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::vector<float> Ramp(int low, int high) {
  std::vector<float> values;
  for (int i = low; i < high; ++i) values.push_back(static_cast<float>(i));
  return values;
}

struct KeptCase {
  const char* name;
  std::vector<float> values;
  int64_t kept_ppm;
  double low;
  double high;
};

class HistogramTest : public testing::TestWithParam<KeptCase> {};

void PrintTo(const KeptCase& row, std::ostream* out) { *out << row.name; }

TEST_P(HistogramTest, KeepsTheShare) {
  Histogram histogram;
  histogram.Add(GetParam().values);
  const auto [low, high] = histogram.Kept(GetParam().kept_ppm);
  const double bin = 1024.0 / 4096;  // Values below stay under 1024.
  EXPECT_NEAR(low, GetParam().low, bin);
  EXPECT_NEAR(high, GetParam().high, bin);
}

const KeptCase kCases[] = {
    {"Nothing", {}, 900'000, 0, 0},
    {"All", Ramp(-500, 1000), 1'000'000, -500, 999},
    // 10 % of 1000 values, half of it at each end.
    {"BothEnds", Ramp(-500, 500), 900'000, -450, 449},
    {"PositiveOnly", Ramp(0, 1000), 900'000, 50, 949},
    {"NegativeOnly", Ramp(-1000, 0), 900'000, -950, -51},
    {"OneOutlierIsCutOff",
     [] {
       std::vector<float> values(10'000, 1.0f);
       values.push_back(900.0f);
       return values;
     }(),
     999'000, 1, 1},
    {"OneSampleIsKept", {3}, 1, 3, 3},
};

INSTANTIATE_TEST_SUITE_P(All, HistogramTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// The first values are not counted yet: one more, and they are.
TEST(HistogramTest, FewValuesAreCountedAsMany) {
  std::vector<float> values = Ramp(-300, Histogram::kFewValues - 300);
  values[5] = 1e-6f;
  Histogram few;
  few.Add(values);
  Histogram many;
  many.Add(values);
  // What is cut off stays the same: one of 1025 is as many as one of 1024.
  many.Add({100});
  EXPECT_LT(few.bytes(), 10'000);
  EXPECT_GT(many.bytes(), 100'000);
  for (const int64_t ppm : {1'000'000, 999'000, 900'000}) {
    EXPECT_EQ(few.Kept(ppm), many.Kept(ppm)) << ppm;
  }
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
  for (const int64_t ppm : {1'000'000, 999'000, 900'000, 500'000, 1}) {
    EXPECT_EQ(forward.Kept(ppm), backward.Kept(ppm)) << ppm;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
