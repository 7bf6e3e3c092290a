#include "base/rounding.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

TEST(RoundingTest, RoundsUp) {
  EXPECT_EQ(CeilDiv(0, 3), 0);
  EXPECT_EQ(CeilDiv(1, 3), 1);
  EXPECT_EQ(CeilDiv(3, 3), 1);
  EXPECT_EQ(CeilDiv(4, 3), 2);
  EXPECT_EQ(RoundUp(0, 8), 0);
  EXPECT_EQ(RoundUp(1, 8), 8);
  EXPECT_EQ(RoundUp(16, 8), 16);
  EXPECT_EQ(RoundUp(17, 8), 24);
}

TEST(RoundingTest, HasTheWholeRange) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CeilDiv(kMost, 1), kMost);
  EXPECT_EQ(CeilDiv(kMost, 2), kMost / 2 + 1);
  EXPECT_EQ(CeilDiv(kMost, kMost), 1);
}

}  // namespace
}  // namespace edgekiln
