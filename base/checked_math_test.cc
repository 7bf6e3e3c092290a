#include "base/checked_math.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(CheckedMathTest, ArithmeticAtTheEdges) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMin, -1), std::nullopt);
  EXPECT_EQ(CheckedSub(kMin + 1, 1), kMin);
  EXPECT_EQ(CheckedSub(kMin, 1), std::nullopt);
  EXPECT_EQ(CheckedSub(0, kMin), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
  EXPECT_EQ(CheckedMul(kMin, -1), std::nullopt);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
}

struct ShapeCase {
  const char* name;
  std::vector<int64_t> extents;
  std::optional<int64_t> product;
};

class CheckedProductTest : public testing::TestWithParam<ShapeCase> {};

TEST_P(CheckedProductTest, Is) {
  EXPECT_EQ(CheckedProduct(GetParam().extents), GetParam().product);
}

const ShapeCase kShapes[] = {
    {"Scalar", {}, 1},
    {"Plain", {2, 3, 4}, 24},
    {"Zero", {2, 0, 4}, 0},
    {"Negative", {2, -1}, std::nullopt},
    {"NegativeAfterZero", {0, -1}, std::nullopt},
    {"Largest", {kMax, 1}, kMax},
    {"Overflow", {kMax, 2}, std::nullopt},
    {"OverflowBeforeZero", {kMax, kMax, 0}, std::nullopt},
    {"OverflowAfterZero", {0, kMax, kMax}, std::nullopt},
};
INSTANTIATE_TEST_SUITE_P(All, CheckedProductTest, testing::ValuesIn(kShapes),
                         [](const auto& info) { return info.param.name; });

TEST(CheckedCastTest, KeepsTheValueOrSaysNo) {
  EXPECT_EQ(CheckedCast<int32_t>(kMax), std::nullopt);
  EXPECT_EQ(CheckedCast<int32_t>(int64_t{-5}), -5);
  EXPECT_EQ(CheckedCast<uint8_t>(-1), std::nullopt);
  EXPECT_EQ(CheckedCast<uint8_t>(255), 255);
  EXPECT_EQ(CheckedCast<int64_t>(std::numeric_limits<uint64_t>::max()),
            std::nullopt);
  EXPECT_EQ(CheckedCast<uint64_t>(kMax), static_cast<uint64_t>(kMax));
}

}  // namespace
}  // namespace edgekiln
