#include "ops/real_zero.h"

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

TEST(RealZeroTest, IsTheZeroPointOfIntegers) {
  EXPECT_EQ(RealZero(v1::INT8, 3, -128), "\x80\x80\x80");
  EXPECT_EQ(RealZero(v1::UINT8, 2, 200), "\xc8\xc8");
  EXPECT_EQ(RealZero(v1::INT16, 2, -2), "\xfe\xff\xfe\xff");
  EXPECT_EQ(RealZero(v1::UINT16, 1, 0x1234), "\x34\x12");
  EXPECT_EQ(RealZero(v1::INT64, 1, -1), std::string(8, '\xff'));
  EXPECT_EQ(RealZero(v1::INT32, 2, 0), std::string(8, '\0'));
  EXPECT_EQ(RealZero(v1::INT8, 0, 5), "");
}

TEST(RealZeroTest, IsAllZeroBitsOfTheOthers) {
  EXPECT_EQ(RealZero(v1::FLOAT32, 2, 7), std::string(8, '\0'));
  EXPECT_EQ(RealZero(v1::FLOAT16, 1, 7), std::string(2, '\0'));
  EXPECT_EQ(RealZero(v1::FLOAT64, 1, 7), std::string(8, '\0'));
  EXPECT_EQ(RealZero(v1::BOOL, 2, 7), std::string(2, '\0'));
}

}  // namespace
}  // namespace edgekiln::ops
