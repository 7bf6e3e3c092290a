#include "compiler/quantize/activation_histograms.h"

#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Memory that a tensor no longer takes is there for the next ones: they do not
// have to wait for another run.
TEST(ActivationHistogramsTest, WhatIsDroppedMakesRoom) {
  std::vector<float> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::vector<Observed> observed(3);
  for (Observed& one : observed) one.histogram.emplace();
  Histogram one;
  one.Add(values);
  ActivationHistograms histograms(observed, 2 * one.bytes());
  histograms.Add(values, observed[0]);
  histograms.Add(values, observed[1]);
  histograms.Drop(observed[0]);
  histograms.Drop(observed[0]);
  histograms.Add(values, observed[2]);
  EXPECT_TRUE(observed[1].histogram.has_value());
  EXPECT_TRUE(observed[2].histogram.has_value());
  EXPECT_FALSE(histograms.EndRun(1'000'000));
  EXPECT_FALSE(observed[0].kept.has_value());
  EXPECT_GE(observed[2].kept->second, 99.0);
}

TEST(ActivationHistogramsTest, WhatFindsNoRoomIsForAnotherRun) {
  const std::vector<float> values(100, 1.0F);
  std::vector<Observed> observed(3);
  for (Observed& one : observed) one.histogram.emplace();
  ActivationHistograms histograms(observed, 1);
  int runs = 0;
  do {
    for (Observed& one : observed) histograms.Add(values, one);
    ++runs;
  } while (histograms.EndRun(1'000'000));
  EXPECT_EQ(runs, 3);
  for (const Observed& one : observed) EXPECT_TRUE(one.kept.has_value());
}

}  // namespace
}  // namespace edgekiln::compiler
