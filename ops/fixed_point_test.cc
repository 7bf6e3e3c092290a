#include "ops/fixed_point.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

// What gemmlowp computes, to the bit.
TEST(FixedPointTest, SixteenBitsAsPublished) {
  const struct {
    int16_t x, sigmoid, tanh, wide_tanh, narrow_tanh;
  } rows[] = {
      {-32768, 11, -32767, -32767, -24964},
      {-10000, 2621, -32280, -32767, -9696},
      {-4096, 8815, -24964, -32767, -4076},
      {-1, 16383, -8, -64, 8},
      {0, 16384, 0, 0, 0},
      {1, 16384, 8, 64, -8},
      {100, 16584, 792, 6316, 100},
      {4096, 23952, 24964, 32767, 4076},
      {12345, 31236, 32616, 32767, 11788},
      {32767, 32756, 32767, 32767, 24964},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(FixedSigmoid(row.x, 3), row.sigmoid) << row.x;
    EXPECT_EQ(FixedTanh(row.x, 3), row.tanh) << row.x;
    EXPECT_EQ(FixedTanh(row.x, 6), row.wide_tanh) << row.x;
    EXPECT_EQ(FixedTanh(row.x, 0), row.narrow_tanh) << row.x;
  }
}

TEST(FixedPointTest, SixteenBitsAreNearTheFunctions) {
  for (int32_t x = -32768; x <= 32767; ++x) {
    const auto q = static_cast<int16_t>(x);
    const double real = x * 0x1p-12;
    ASSERT_NEAR(FixedTanh(q, 3) * 0x1p-15, std::tanh(real), 12 * 0x1p-15) << x;
    ASSERT_NEAR(FixedSigmoid(q, 3) * 0x1p-15, 1 / (1 + std::exp(-real)),
                7 * 0x1p-15)
        << x;
  }
}

TEST(FixedPointTest, ThirtyTwoBitsAreNearTheFunctions) {
  for (int64_t x = std::numeric_limits<int32_t>::min(); x <= 0; x += 65521) {
    const auto q = static_cast<int32_t>(x);
    ASSERT_NEAR(FixedExp(q, 5) * 0x1p-31, std::exp(x * 0x1p-26), 3e-7) << x;
    ASSERT_NEAR(FixedTanh(q, 4) * 0x1p-31, std::tanh(x * 0x1p-27), 1e-6) << x;
    ASSERT_NEAR(FixedOneOverOnePlus(static_cast<int32_t>(-(x + 1))) * 0x1p-31,
                1 / (1 - (x + 1) * 0x1p-31), 1e-6)
        << x;
  }
}

TEST(FixedPointTest, RootsAndReciprocals) {
  for (int64_t value = 2; value <= std::numeric_limits<int32_t>::max();
       value = value * 9 / 8 + 1) {
    const auto q = static_cast<int32_t>(value);
    const auto real = [](FixedPointMultiplier factor) {
      return std::ldexp(factor.multiplier, factor.shift - 31);
    };
    const double root = 1 / std::sqrt(static_cast<double>(value));
    ASSERT_NEAR(real(FixedInverseSqrt(q)), root, 2e-6 * root) << value;
    const double inverse = 1 / static_cast<double>(value);
    ASSERT_NEAR(real(FixedReciprocal(q)), inverse, 1e-6 * inverse) << value;
  }
  for (const int32_t few : {0, 1}) {
    EXPECT_EQ(FixedInverseSqrt(few).multiplier, 2147483647);
    EXPECT_EQ(FixedInverseSqrt(few).shift, 0);
  }
}

TEST(FixedPointTest, RoundsAndSaturates) {
  EXPECT_EQ(HighProduct<int16_t>(-32768, -32768), 32767);
  EXPECT_EQ(HighProduct<int16_t>(1, 16384), 1);    // 0.5
  EXPECT_EQ(HighProduct<int16_t>(-1, 16384), 0);   // -0.5
  EXPECT_EQ(HighProduct<int16_t>(-3, 16384), -1);  // -1.5
  EXPECT_EQ(HalfAwayShift(5, 1), 3);
  EXPECT_EQ(HalfAwayShift(-5, 1), -3);
  EXPECT_EQ(HalfAwayShift(-5, 0), -5);
  EXPECT_EQ(SaturatedTo<int8_t>(200), 127);
  EXPECT_EQ(SaturatedTo<int16_t>(-1 << 20), -32768);
}

}  // namespace
}  // namespace edgekiln::ops
