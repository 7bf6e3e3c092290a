#include "compiler/quantize/extremes.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(ExtremesTest, AreFoundWhereverTheyAre) {
  for (size_t size = 1; size <= 19; ++size) {
    for (size_t at = 0; at < size; ++at) {
      std::vector<float> values(size, 1.5f);
      values[at] = -3;
      EXPECT_EQ(ExtremesOf(values).low, -3) << size << " " << at;
      values[at] = 4;
      EXPECT_EQ(ExtremesOf(values).high, 4) << size << " " << at;
      EXPECT_EQ(ExtremesOf(values).low, size == 1 ? 4 : 1.5f);
      EXPECT_TRUE(ExtremesOf(values).numbers);
      values[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(ExtremesOf(values).numbers) << size << " " << at;
    }
  }
}

TEST(ExtremesTest, InfinitiesAreNumbers) {
  std::vector<float> values(9, 0);
  values[8] = std::numeric_limits<float>::infinity();
  values[3] = -values[8];
  const Extremes extremes = ExtremesOf(values);
  EXPECT_TRUE(extremes.numbers);
  EXPECT_TRUE(std::isinf(extremes.low));
  EXPECT_TRUE(std::isinf(extremes.high));
}

}  // namespace
}  // namespace edgekiln::compiler
