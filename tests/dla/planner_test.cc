// The planner against its promises: any SRAM from the smallest up compiles,
// one byte less fails and names the size.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "tests/dla/graph_builder.h"
#include "tests/dla/pipeline.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

Graph RandomNet(uint64_t seed) {
  QuantizedGraphBuilder builder(seed);
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(4, 14);
  const int64_t w = rng.InRange(4, 14);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 9)});
  x = builder.Conv(x, rng.InRange(1, 40), RandomWindow(rng, h, w, true), true);
  x = builder.Depthwise(
      x, rng.InRange(1, 3),
      RandomWindow(rng, builder.shape(x)[1], builder.shape(x)[2], true), false);
  const TensorId y = builder.Conv(x, builder.shape(x)[3], {}, false);
  x = builder.Add(x, y);
  return builder.Finish({x});
}

class PlannerTest : public testing::TestWithParam<int> {};

TEST_P(PlannerTest, SmallestSramIsExact) {
  const Graph graph = RandomNet(100 + GetParam());
  const auto none = CompileQuantized(graph, DlaTarget(64, true, 16));
  ASSERT_FALSE(none.ok());
  const int64_t smallest = SmallestSramOf(none.status());
  ASSERT_GT(smallest, 0) << none.status();
  const auto fits = CompileQuantized(graph, DlaTarget(64, true, smallest));
  EXPECT_TRUE(fits.ok()) << fits.status();
  const auto below = CompileQuantized(graph, DlaTarget(64, true, smallest - 1));
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(SmallestSramOf(below.status()), smallest);
}

TEST_P(PlannerTest, AnySizeAboveCompiles) {
  const Graph graph = RandomNet(200 + GetParam());
  const int64_t smallest =
      SmallestSramOf(CompileQuantized(graph, DlaTarget(64, true, 16)).status());
  Rng rng(GetParam());
  for (int i = 0; i < 6; ++i) {
    const int64_t sram = smallest + rng.InRange(0, smallest * 4);
    const auto compiled = CompileQuantized(
        graph, DlaTarget(rng.InRange(1, 128), i % 2 == 0, sram));
    ASSERT_TRUE(compiled.ok()) << sram << ": " << compiled.status();
    EXPECT_LE(compiled->program.sram_peak_bytes(), sram);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlannerTest, testing::Range(0, 40));

}  // namespace
}  // namespace edgekiln::tests
