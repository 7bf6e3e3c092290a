#include "ops/gemm.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

constexpr int64_t kMany = int64_t{1} << 40;

TEST(RowsPerStepTest, StaysNearTheCaches) {
  // A step of small products is no larger than 2^15 elements.
  EXPECT_EQ(RowsPerStep(kMany, 32, 16), 1024);
  EXPECT_EQ(RowsPerStep(kMany, 16, 256), 128);
  // Of large ones it is 64 rows, as long as they have 2^18 elements at most.
  EXPECT_EQ(RowsPerStep(kMany, 1152, 128), 64);
  EXPECT_EQ(RowsPerStep(kMany, 4096, 512), 64);
  EXPECT_EQ(RowsPerStep(kMany, 512, 4096), 64);
  EXPECT_EQ(RowsPerStep(kMany, 4608, 512), 56);
  EXPECT_EQ(RowsPerStep(kMany, 25088, 512), 8);
  EXPECT_EQ(RowsPerStep(kMany, 1 << 16, 1), 4);
  EXPECT_EQ(RowsPerStep(kMany, kMany, 1), 1);
}

TEST(RowsPerStepTest, IsNoMoreThanAllRows) {
  EXPECT_EQ(RowsPerStep(1, 4608, 512), 1);
  EXPECT_EQ(RowsPerStep(49, 4608, 512), 49);
  EXPECT_EQ(RowsPerStep(3, 1, 0), 3);
  EXPECT_EQ(RowsPerStep(3, 0, 0), 3);
}

// Kernels compute eight rows at once.
TEST(RowsPerStepTest, LeavesNoRowsToComputeOneByOne) {
  for (int64_t depth = 1; depth < 40000; depth += 1 + depth / 16) {
    const int64_t step = RowsPerStep(kMany, depth, 1);
    EXPECT_TRUE(step < 8 || step % 8 == 0) << depth << ": " << step;
    EXPECT_LE(step * depth, 1 << 18);
  }
}

}  // namespace
}  // namespace edgekiln::ops
