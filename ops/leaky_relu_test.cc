#include "ops/leaky_relu.h"

#include <limits>
#include <optional>
#include <ostream>
#include <string>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

struct SlopeCase {
  const char* name;
  float alpha;
  float scale;
  int32_t zero_point;
  v1::Rounding rounding;
  bool found;
  bool half_even = false;  // Of what is found.
};

void PrintTo(const SlopeCase& row, std::ostream* out) { *out << row.name; }

std::optional<FixedPointMultiplier> MultiplierOf(
    const SlopeCase& row, v1::ElementType type = v1::INT8) {
  v1::Unary op;
  op.set_function(v1::Unary::LEAKY_RELU);
  op.set_alpha(row.alpha);
  const float scale[] = {row.scale};
  const int32_t zero_point[] = {row.zero_point};
  return LeakyReluMultiplier(op, row.rounding, {scale, zero_point}, type);
}

class LeakyReluMultiplierTest : public testing::TestWithParam<SlopeCase> {};

// That the multiplier gives the op's values is what it is found by.
TEST_P(LeakyReluMultiplierTest, IsFoundWhereOneMultiplicationIsTheOp) {
  const auto found = MultiplierOf(GetParam());
  ASSERT_EQ(found.has_value(), GetParam().found);
  if (!found) return;
  EXPECT_EQ(found->rounding == v1::HALF_EVEN, GetParam().half_even);
  EXPECT_GE(found->multiplier, 0);
}

constexpr float kHuge = 2e36f;  // 255 steps are infinite as floats.
const SlopeCase kCases[] = {
    {"HalfUp", 0.1f, 0.03f, 7, v1::HALF_UP, true},
    {"Steep", 3.0f, 0.03f, -5, v1::HALF_UP, true},
    {"Flat", 0.0f, 0.03f, 100, v1::HALF_UP, true},
    {"Identity", 1.0f, 0.03f, 127, v1::HALF_UP, true},
    {"Negative", -0.1f, 0.03f, 7, v1::HALF_UP, false},
    // Nothing is below 0.
    {"NegativeOfNothing", -0.1f, 0.03f, -128, v1::HALF_UP, true},
    {"TiesOfPowersOfTwo", 0.25f, 0.5f, 0, v1::HALF_EVEN, true, true},
    {"NoTies", 0.2f, 0.03f, 7, v1::HALF_EVEN, true, true},
    // 5, 15, 25 .. times 0.1f are ties as floats, but not as they are.
    {"TiesOfFloats", 0.1f, 0.5f, 0, v1::HALF_EVEN, false},
    {"InfiniteValues", 0.25f, kHuge, 127, v1::HALF_EVEN, false},
    {"InfiniteValuesHalfUp", 0.25f, kHuge, 127, v1::HALF_UP, true},
    {"Infinite", std::numeric_limits<float>::infinity(), 0.5f, 0, v1::HALF_UP,
     true},
};

INSTANTIATE_TEST_SUITE_P(All, LeakyReluMultiplierTest,
                         testing::ValuesIn(kCases), [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(LeakyReluMultiplierTest, IsKnownOfEightBits) {
  SlopeCase row = kCases[0];
  row.zero_point = 0;
  EXPECT_TRUE(MultiplierOf(row, v1::UINT8).has_value());
  EXPECT_FALSE(MultiplierOf(row, v1::INT16).has_value());
}

}  // namespace
}  // namespace edgekiln::ops
