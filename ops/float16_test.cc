#include "ops/float16.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

uint16_t Bits(_Float16 value) { return std::bit_cast<uint16_t>(value); }

TEST(Float16Test, EveryHalfIsTheCompilersAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = FloatFromHalf(half);
    const auto want = static_cast<float>(std::bit_cast<_Float16>(half));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(FloatFromHalf(HalfFromFloat(value)))) << bits;
      continue;
    }
    EXPECT_EQ(value, want) << bits;
    EXPECT_EQ(HalfFromFloat(value), half);
    EXPECT_EQ(HalfFromDouble(value), half);
  }
}

TEST(Float16Test, FloatsAndDoublesRoundToTheNearest) {
  // Around every half: exactly between two, and a little beside.
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = FloatFromHalf(static_cast<uint16_t>(bits));
    const float step =
        bits == 0x7bff ? 32
                       : FloatFromHalf(static_cast<uint16_t>(bits + 1)) - low;
    const float middle = low + step / 2;
    for (const float value :
         {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      for (const float signed_value : {value, -value}) {
        const uint16_t want = Bits(static_cast<_Float16>(signed_value));
        ASSERT_EQ(HalfFromFloat(signed_value), want) << signed_value;
        ASSERT_EQ(HalfFromDouble(signed_value), want) << signed_value;
      }
    }
    // One rounding: through float this would be a tie.
    ASSERT_EQ(HalfFromDouble(middle + step * 0x1p-30), bits + 1);
  }
  EXPECT_EQ(HalfFromFloat(1e30f), 0x7c00);
  EXPECT_EQ(HalfFromFloat(1e-30f), 0);
  EXPECT_EQ(HalfFromFloat(-1e-30f), 0x8000);
}

}  // namespace
}  // namespace edgekiln::ops
