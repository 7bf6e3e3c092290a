#include "tests/bench/measure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgekiln::bench {
namespace {

struct QuantileCase {
  const char* name;
  std::vector<double> values;
  double share;
  double want;
};

const QuantileCase kQuantiles[] = {
    {"NoValues", {}, 0.5, 0},
    {"OneValue", {7}, 0.99, 7},
    {"MiddleOfThree", {9, 1, 5}, 0.5, 5},
    {"BetweenTwo", {1, 2, 3, 4}, 0.5, 2.5},
    {"Smallest", {3, 1, 2}, 0, 1},
    {"Largest", {3, 1, 2}, 1, 3},
    {"Tenth", {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.1, 10},
};

class QuantileTest : public testing::TestWithParam<QuantileCase> {};

TEST_P(QuantileTest, Is) {
  EXPECT_DOUBLE_EQ(Quantile(GetParam().values, GetParam().share),
                   GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(All, QuantileTest, testing::ValuesIn(kQuantiles),
                         [](const auto& info) { return info.param.name; });

TEST(MeasureInterleaved, TakesTurns) {
  std::string order;
  const auto append = [&order](char mark) {
    return [&order, mark] {
      order.push_back(mark);
      return absl::OkStatus();
    };
  };
  // One call is enough for a sample.
  const MeasureOptions options = {.rounds = 4, .sample_seconds = 0};
  const auto timings =
      MeasureInterleaved({{"a", append('a')}, {"b", append('b')}}, options);
  ASSERT_TRUE(timings.ok()) << timings.status();
  ASSERT_EQ(timings->size(), 2u);
  EXPECT_EQ((*timings)[0].samples, 4);
  EXPECT_EQ(order, "aabbabababab");  // Two to warm up, then four rounds.
}

TEST(MeasureInterleaved, EndsWithTheFirstError) {
  int runs = 0;
  const auto timings = MeasureInterleaved({{"broken",
                                            [&runs]() -> absl::Status {
                                              ++runs;
                                              return absl::InternalError("no");
                                            }}},
                                          MeasureOptions());
  EXPECT_EQ(timings.status(), absl::InternalError("broken: no"));
  EXPECT_EQ(runs, 1);
}

TEST(ProcessCpuSeconds, CountsWork) {
  const double start = ProcessCpuSeconds();
  volatile uint64_t sum = 0;
  for (int i = 0; i < 10'000'000; ++i) sum = sum + 1;
  EXPECT_GT(ProcessCpuSeconds(), start);
}

}  // namespace
}  // namespace edgekiln::bench
