#include "ops/copy_less.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

// Every value of a byte, in counts with and without whole vectors.
TEST(CopyLessTest, IsTheDifferenceAndNoElementMore) {
  std::vector<int8_t> from;
  for (int value = -128; value < 128; ++value) {
    from.push_back(static_cast<int8_t>(value));
  }
  for (const int64_t count : {0, 1, 15, 16, 17, 33, 256}) {
    std::vector<int16_t> to(257, 1000);
    CopyLess<int8_t, int16_t>(from.data(), count, -128, to.data());
    for (int64_t i = 0; i < 257; ++i) {
      ASSERT_EQ(to[i], i < count ? from[i] + 128 : 1000)
          << i << " of " << count;
    }
  }
}

TEST(CopyLessTest, UnsignedBytesStayWhatTheyAre) {
  const std::vector<uint8_t> from(20, 255);
  std::vector<int16_t> to(20);
  CopyLess<uint8_t, int16_t>(from.data(), 20, 3, to.data());
  EXPECT_EQ(to, std::vector<int16_t>(20, 252));
}

TEST(CopyLessTest, WideIntegersToUnsignedOnesWrapAround) {
  std::vector<int32_t> from;
  for (int32_t i = 0; i < 35; ++i) from.push_back(i - 17);
  std::vector<uint32_t> to(from.size() + 1, 7);
  CopyLess<int32_t, uint32_t>(from.data(), 35, 5, to.data());
  for (uint32_t i = 0; i < 35; ++i) ASSERT_EQ(to[i], i - 22u) << i;
  EXPECT_EQ(to.back(), 7u);
}

TEST(CopyLessTest, DifferencesOfWideIntegersNeedMoreThanTheirType) {
  constexpr int32_t kLowest = -2147483647 - 1;
  const std::vector<int32_t> from(19, kLowest);
  std::vector<int64_t> to(20, 7);
  CopyLess<int32_t, int64_t>(from.data(), 19, 2147483647, to.data());
  for (int i = 0; i < 19; ++i) ASSERT_EQ(to[i], -4294967295) << i;
  EXPECT_EQ(to.back(), 7);
}

// As convolutions of int16 and of real numbers copy them.
template <typename From, typename To>
void ExpectDifferences(From first, To less) {
  std::vector<From> from;
  for (int i = 0; i < 35; ++i) from.push_back(static_cast<From>(first + i));
  std::vector<To> to(from.size() + 1, 7);
  CopyLess<From, To>(from.data(), 35, less, to.data());
  for (size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(to[i], static_cast<To>(from[i]) - less) << i;
  }
  EXPECT_EQ(to.back(), 7);
}

TEST(CopyLessTest, TakesTheTypesOfAllConvolutions) {
  ExpectDifferences<int16_t, int64_t>(-32768, 32767);
  ExpectDifferences<float, float>(-0.5f, 0);
  ExpectDifferences<float, float>(-17.25f, 0.125f);
}

}  // namespace
}  // namespace edgekiln::ops
