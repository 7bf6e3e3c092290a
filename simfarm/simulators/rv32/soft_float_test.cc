#include "simfarm/simulators/rv32/soft_float.h"

#include <bit>
#include <cmath>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr Rounding kAllRoundings[] = {
    Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kDown,
    Rounding::kUp, Rounding::kNearestMaxMagnitude};

constexpr uint32_t kOne = 0x3f800000;
constexpr uint32_t kHalfUlp = 0x33800000;  // 2^-24: half of what 1 ends with.
constexpr uint32_t kMax = 0x7f7fffff;
constexpr uint32_t kInf = 0x7f800000;
constexpr uint32_t kSignalling = 0x7f800001;
constexpr uint32_t kMinus = 0x80000000;

struct Result {
  uint32_t bits;
  uint32_t flags;
};

// In the order of kAllRoundings.
struct RoundingCase {
  const char* name;
  uint32_t (*operation)(uint32_t, uint32_t, Rounding, uint32_t*);
  uint32_t a;
  uint32_t b;
  Result expected[5];
};

const RoundingCase kRoundingCases[] = {
    {"tie",
     FloatAdd,
     kOne,
     kHalfUlp,
     {{kOne, kInexact},
      {kOne, kInexact},
      {kOne, kInexact},
      {kOne + 1, kInexact},
      {kOne + 1, kInexact}}},
    {"tie to even",
     FloatAdd,
     kOne + 1,
     kHalfUlp,
     {{kOne + 2, kInexact},
      {kOne + 1, kInexact},
      {kOne + 1, kInexact},
      {kOne + 2, kInexact},
      {kOne + 2, kInexact}}},
    {"negative tie",
     FloatAdd,
     kMinus | kOne,
     kMinus | kHalfUlp,
     {{kMinus | kOne, kInexact},
      {kMinus | kOne, kInexact},
      {kMinus | (kOne + 1), kInexact},
      {kMinus | kOne, kInexact},
      {kMinus | (kOne + 1), kInexact}}},
    {"far below",
     FloatAdd,
     kOne,
     0x00000001,
     {{kOne, kInexact},
      {kOne, kInexact},
      {kOne, kInexact},
      {kOne + 1, kInexact},
      {kOne, kInexact}}},
    {"exact zero",
     FloatSubtract,
     kOne,
     kOne,
     {{0, 0}, {0, 0}, {kMinus, 0}, {0, 0}, {0, 0}}},
    {"overflow",
     FloatAdd,
     kMax,
     kMax,
     {{kInf, kOverflow | kInexact},
      {kMax, kOverflow | kInexact},
      {kMax, kOverflow | kInexact},
      {kInf, kOverflow | kInexact},
      {kInf, kOverflow | kInexact}}},
    // 2^-126 * (1 - 2^-46): with a larger exponent range it would round to
    // 2^-126 or stay below.
    {"tiny only if rounded down",
     FloatMultiply,
     0x3f800001,
     0x007fffff,
     {{0x00800000, kInexact},
      {0x007fffff, kUnderflow | kInexact},
      {0x007fffff, kUnderflow | kInexact},
      {0x00800000, kInexact},
      {0x00800000, kInexact}}},
    {"half of the smallest",
     FloatMultiply,
     0x00000001,
     0x3f000000,
     {{0, kUnderflow | kInexact},
      {0, kUnderflow | kInexact},
      {0, kUnderflow | kInexact},
      {1, kUnderflow | kInexact},
      {1, kUnderflow | kInexact}}},
    {"a third",
     FloatDivide,
     kOne,
     0x40400000,
     {{0x3eaaaaab, kInexact},
      {0x3eaaaaaa, kInexact},
      {0x3eaaaaaa, kInexact},
      {0x3eaaaaab, kInexact},
      {0x3eaaaaab, kInexact}}},
    {"by zero",
     FloatDivide,
     kMinus | kOne,
     0,
     {{kMinus | kInf, kDivideByZero},
      {kMinus | kInf, kDivideByZero},
      {kMinus | kInf, kDivideByZero},
      {kMinus | kInf, kDivideByZero},
      {kMinus | kInf, kDivideByZero}}},
};

TEST(SoftFloatTest, EachRoundingIsExact) {
  for (const RoundingCase& each : kRoundingCases) {
    for (int i = 0; i < 5; ++i) {
      uint32_t flags = 0;
      const uint32_t bits =
          each.operation(each.a, each.b, kAllRoundings[i], &flags);
      EXPECT_EQ(bits, each.expected[i].bits) << each.name << " " << i;
      EXPECT_EQ(flags, each.expected[i].flags) << each.name << " " << i;
    }
  }
}

TEST(SoftFloatTest, InvalidOperationsGiveTheCanonicalNan) {
  const auto expect = [](uint32_t expected_flags, auto operation) {
    uint32_t flags = 0;
    EXPECT_EQ(operation(&flags), kCanonicalNan);
    EXPECT_EQ(flags, expected_flags);
  };
  constexpr Rounding kRound = Rounding::kNearestEven;
  expect(kInvalid,
         [](auto* f) { return FloatSubtract(kInf, kInf, kRound, f); });
  expect(kInvalid, [](auto* f) { return FloatMultiply(kInf, 0, kRound, f); });
  expect(kInvalid, [](auto* f) { return FloatDivide(0, 0, kRound, f); });
  expect(kInvalid, [](auto* f) { return FloatDivide(kInf, kInf, kRound, f); });
  expect(kInvalid, [](auto* f) { return FloatSqrt(kMinus | kOne, kRound, f); });
  expect(kInvalid,
         [](auto* f) { return FloatAdd(kSignalling, kOne, kRound, f); });
  expect(0, [](auto* f) { return FloatAdd(0xffc12345, kOne, kRound, f); });
  // Also where the addend is a quiet NaN.
  expect(kInvalid, [](auto* f) {
    return FloatMultiplyAdd(kInf, 0, kCanonicalNan, kRound, f);
  });
  expect(0, [](auto* f) { return FloatMin(0xffc12345, kCanonicalNan, f); });
}

TEST(SoftFloatTest, MinimaAndComparisonsKnowNanAndZeros) {
  uint32_t flags = 0;
  EXPECT_EQ(FloatMin(0, kMinus, &flags), kMinus);
  EXPECT_EQ(FloatMax(kMinus, 0, &flags), 0u);
  EXPECT_EQ(FloatMax(kCanonicalNan, kOne, &flags), kOne);
  EXPECT_TRUE(FloatEqual(0, kMinus, &flags));
  EXPECT_FALSE(FloatLess(kMinus, 0, &flags));
  EXPECT_FALSE(FloatEqual(kCanonicalNan, kCanonicalNan, &flags));
  EXPECT_EQ(flags, 0u);
  EXPECT_FALSE(FloatLessEqual(kCanonicalNan, kOne, &flags));
  EXPECT_EQ(flags, kInvalid);
}

TEST(SoftFloatTest, ConversionsSaturate) {
  struct Case {
    uint32_t a;
    uint32_t as_int;
    uint32_t int_flags;
    uint32_t as_uint;
    uint32_t uint_flags;
  };
  const Case kCases[] = {
      {kCanonicalNan, 0x7fffffff, kInvalid, ~0u, kInvalid},
      {kMinus | kInf, 0x80000000, kInvalid, 0, kInvalid},
      {0x4f000000, 0x7fffffff, kInvalid, 0x80000000, 0},
      {0xcf000000, 0x80000000, 0, 0, kInvalid},
      {0x4f800000, 0x7fffffff, kInvalid, ~0u, kInvalid},
      {0xbf000000, 0, kInexact, 0, kInexact},  // -0.5, to even.
      {0xbf800000, ~0u, 0, 0, kInvalid},
      {0x3fc00000, 2, kInexact, 2, kInexact},
  };
  for (const Case& each : kCases) {
    uint32_t flags = 0;
    EXPECT_EQ(FloatToInt(each.a, Rounding::kNearestEven, &flags), each.as_int);
    EXPECT_EQ(flags, each.int_flags) << each.a;
    flags = 0;
    EXPECT_EQ(FloatToUint(each.a, Rounding::kNearestEven, &flags),
              each.as_uint);
    EXPECT_EQ(flags, each.uint_flags) << each.a;
  }
  uint32_t flags = 0;
  EXPECT_EQ(IntToFloat(0x80000000, Rounding::kUp, &flags), 0xcf000000);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(UintToFloat(~0u, Rounding::kDown, &flags), 0x4f7fffffu);
  EXPECT_EQ(flags, kInexact);
}

TEST(SoftFloatTest, ClassesAreTold) {
  const uint32_t kValues[] = {
      kMinus | kInf, kMinus | kOne, 0x80000001,  kMinus,       0, 1,
      kOne,          kInf,          kSignalling, kCanonicalNan};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(FloatClass(kValues[i]), 1u << i);
}

// Rounding twice, to double and then to float, gives what rounding once does.
TEST(SoftFloatTest, EqualsTheHostWhereItRoundsToNearest) {
  Rng rng(1);
  for (int i = 0; i < 200'000; ++i) {
    // Exponents close enough for results to be normal.
    const auto random = [&] {
      return static_cast<uint32_t>(rng.Next() & 0x807fffff) |
             static_cast<uint32_t>(rng.InRange(110, 140)) << 23;
    };
    const uint32_t a = random();
    const uint32_t b = random();
    const double x = std::bit_cast<float>(a);
    const double y = std::bit_cast<float>(b);
    const auto bits = [](double value) {
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    };
    uint32_t flags = 0;
    constexpr Rounding kRound = Rounding::kNearestEven;
    ASSERT_EQ(FloatAdd(a, b, kRound, &flags), bits(x + y));
    ASSERT_EQ(FloatSubtract(a, b, kRound, &flags), bits(x - y));
    ASSERT_EQ(FloatMultiply(a, b, kRound, &flags), bits(x * y));
    ASSERT_EQ(FloatDivide(a, b, kRound, &flags), bits(x / y));
    ASSERT_EQ(FloatSqrt(a & ~kMinus, kRound, &flags),
              bits(std::sqrt(std::fabs(x))));
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
