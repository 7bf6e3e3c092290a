#include "ops/requantize.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

struct MultiplierCase {
  double factor;
  FixedPointMultiplier expected;
};

TEST(QuantizeMultiplierTest, GivesTheClosestFixedPointForm) {
  const int32_t half = 1 << 30;
  const MultiplierCase cases[] = {
      {1.0, {half, 1}},
      {0.5, {half, 0}},
      {0.75, {half + half / 2, 0}},
      {0.25, {half, -1}},
      {3.0, {half + half / 2, 2}},
      {0x1p-32, {half, -31}},
      // Rounds up to 2^31, which does not fit: carried into the shift.
      {std::nextafter(1.0, 0.0), {half, 1}},
      {0x1p-33, {0, 0}},
      {0.0, {0, 0}},
      {-1.0, {0, 0}},
      {std::numeric_limits<double>::quiet_NaN(), {0, 0}},
      {std::numeric_limits<double>::infinity(), {0, 0}},
      {0x1p40, {std::numeric_limits<int32_t>::max(), 30}},
  };
  for (const MultiplierCase& c : cases) {
    EXPECT_EQ(QuantizeMultiplier(c.factor), c.expected) << c.factor;
  }
}

TEST(QuantizeMultiplierTest, IsWithinHalfAUnitInTheLastPlace) {
  TestRandom random(1);
  for (int i = 0; i < 10000; ++i) {
    const double factor = std::ldexp(1.0 + double{random.Float(0, 1)},
                                     static_cast<int>(random.Int(-30, 20)));
    const FixedPointMultiplier m = QuantizeMultiplier(factor);
    ASSERT_GE(m.multiplier, 1 << 30);
    const double real = std::ldexp(m.multiplier, m.shift - 31);
    ASSERT_LE(std::abs(real - factor), std::ldexp(0.5, m.shift - 31));
  }
}

struct RescaleCase {
  int32_t value;
  double factor;
  int32_t expected;
};

TEST(RescaleTest, RoundsOnceAndHalfUp) {
  const RescaleCase cases[] = {
      {3, 0.5, 2},     // 1.5
      {-3, 0.5, -1},   // -1.5
      {1, 0.25, 0},    // 0.25
      {2, 0.25, 1},    // 0.5
      {-2, 0.25, 0},   // -0.5
      {-6, 0.25, -1},  // -1.5
      {7, 3.0, 21},
      {100, 0.0, 0},
      // Twice rounded (to 2^-1 first), these would be off by one.
      {5, 0.3, 2},  // 1.5 less one unit of the multiplier's error
      {1000001, 0x1p-20, 1},
  };
  for (const RescaleCase& c : cases) {
    EXPECT_EQ(Rescale(c.value, QuantizeMultiplier(c.factor)), c.expected)
        << c.value << " * " << c.factor;
  }
}

TEST(RescaleTest, RoundsHalfToEvenIfAsked) {
  const RescaleCase cases[] = {
      {1, 0.5, 0},    {3, 0.5, 2},
      {-1, 0.5, 0},   {-3, 0.5, -2},
      {-5, 0.5, -2},  {10, 0.25, 2},
      {14, 0.25, 4},  {11, 0.25, 3},
      {-9, 0.25, -2}, {-2147483647 - 1, 0.5, -1073741824},
  };
  for (const RescaleCase& c : cases) {
    EXPECT_EQ(Rescale(c.value, QuantizeMultiplier(c.factor, v1::HALF_EVEN)),
              c.expected)
        << c.value << " * " << c.factor;
    EXPECT_EQ(RescaleWide(c.value, QuantizeMultiplier(c.factor, v1::HALF_EVEN)),
              c.expected);
  }
}

TEST(MayTieTest, NoRoundingMattersBelow) {
  for (const double factor : {0.5, 0.25, 0x1p-10, 0.375, 0.875, 3.0, 1.5, 4.0,
                              0.3, 5.0 / 64, 1.0 / 3}) {
    const FixedPointMultiplier up = QuantizeMultiplier(factor);
    FixedPointMultiplier even = up;
    even.rounding = v1::HALF_EVEN;
    for (int32_t value = 1; value < 5000; ++value) {
      const bool differ = Rescale(value, up) != Rescale(value, even) ||
                          Rescale(-value, up) != Rescale(-value, even);
      ASSERT_TRUE(!differ || MayTie(up, value)) << factor << " " << value;
    }
  }
  EXPECT_FALSE(MayTie(QuantizeMultiplier(0.3), 1 << 24));
  EXPECT_FALSE(MayTie(QuantizeMultiplier(4.0), 1 << 30));
  EXPECT_FALSE(MayTie(QuantizeMultiplier(0x1p-10), 511));
  EXPECT_TRUE(MayTie(QuantizeMultiplier(0x1p-10), 512));
  EXPECT_FALSE(MayTie({}, 1 << 30));
}

TEST(RescaleTest, RoundsDownIfAsked) {
  const RescaleCase cases[] = {
      {1, 0.5, 0},    {3, 0.5, 1},  {-1, 0.5, -1},
      {-3, 0.5, -2},  {7, 0.25, 1}, {-1, 0.25, -1},
      {-8, 0.25, -2}, {5, 3.0, 15}, {-2147483647 - 1, 0.5, -1073741824},
  };
  for (const RescaleCase& c : cases) {
    EXPECT_EQ(Rescale(c.value, QuantizeMultiplier(c.factor, v1::FLOOR)),
              c.expected)
        << c.value << " * " << c.factor;
    EXPECT_EQ(RescaleWide(c.value, QuantizeMultiplier(c.factor, v1::FLOOR)),
              c.expected);
  }
}

// Sums whose products are likely to be ties.
TEST(RescaleTest, HalfToEvenEqualsExactArithmetic) {
  TestRandom random(3);
  int ties = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<int32_t>(random.Int(-300000, 300000));
    const int n = static_cast<int>(random.Int(31, 45));
    const auto odd = random.Int(1, 15);
    const FixedPointMultiplier m = {
        static_cast<int32_t>(odd << random.Int(20, 27)), 31 - n, v1::HALF_EVEN};
    const int64_t product = int64_t{value} * m.multiplier;
    const int64_t unit = int64_t{1} << n;
    int64_t down = product / unit - (product % unit < 0 ? 1 : 0);
    const int64_t twice = 2 * (product - down * unit);
    ties += twice == unit;
    if (twice > unit || (twice == unit && down % 2 != 0)) ++down;
    ASSERT_EQ(Rescale(value, m), static_cast<int32_t>(down));
  }
  EXPECT_GT(ties, 100);
}

TEST(RescaleTest, EqualsExactArithmetic) {
  TestRandom random(2);
  for (int i = 0; i < 100000; ++i) {
    const auto value =
        static_cast<int32_t>(random.Int(std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int32_t>::max()));
    const FixedPointMultiplier m = {
        static_cast<int32_t>(random.Int(1 << 30, (int64_t{1} << 31) - 1)),
        static_cast<int32_t>(random.Int(-31, 0))};
    // floor((value * multiplier * 2 + 2^n) / 2^(n+1)) in 128 bits.
    const int n = 31 - m.shift;
    const __int128 doubled = static_cast<__int128>(value) * m.multiplier * 2 +
                             (static_cast<__int128>(1) << n);
    const __int128 unit = static_cast<__int128>(1) << (n + 1);
    __int128 quotient = doubled / unit;
    if (doubled % unit < 0) --quotient;
    ASSERT_EQ(Rescale(value, m), static_cast<int32_t>(quotient));
  }
}

}  // namespace
}  // namespace edgekiln::ops
