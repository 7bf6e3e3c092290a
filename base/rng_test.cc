#include "base/rng.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

// First outputs of the authors' reference code for seed 1234567.
TEST(SplitMix64Test, EqualsTheReference) {
  SplitMix64 rng(1234567);
  EXPECT_EQ(rng.Next(), 6457827717110365317u);
  EXPECT_EQ(rng.Next(), 3203168211198807973u);
  EXPECT_EQ(rng.Next(), 9817491932198370423u);
}

TEST(RngTest, SameSeedSameNumbers) {
  Rng a(1), b(1), c(2);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(a.Next(), c.Next());
  static_assert(Rng(7).Next() == Rng(7).Next());
}

TEST(RngTest, RangesAreReachedAndKept) {
  Rng rng(3);
  std::vector<int> seen(6);
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = rng.InRange(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    ++seen[value + 2];
  }
  for (const int count : seen) EXPECT_GT(count, 100);
  EXPECT_EQ(rng.Below(1), 0u);
  EXPECT_EQ(rng.InRange(5, 5), 5);
  rng.InRange(std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max());
}

TEST(RngTest, UnitIsHalfOpen) {
  Rng rng(4);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = rng.Unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(RngTest, ShuffleKeepsTheElements) {
  Rng rng(5);
  std::vector<int> items(50);
  for (int i = 0; i < 50; ++i) items[i] = i;
  std::vector<int> shuffled = items;
  rng.Shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace edgekiln
