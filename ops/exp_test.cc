#include "ops/exp.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

TEST(ExpTest, StaysWithinTheDocumentedError) {
  for (int i = -700 * 64; i <= 700 * 64; ++i) {
    const double x = i / 64.0 + i * 1e-7;
    const double exact = std::exp(x);
    ASSERT_LE(std::abs(Exp(x) - exact), exact * 0x1p-51) << x;
  }
}

TEST(ExpTest, KnowsTheEdges) {
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-0.0), 1);
  EXPECT_EQ(Exp(-1e300), 0);
  EXPECT_EQ(Exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(Exp(710), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_GT(Exp(-745), 0);
  EXPECT_LT(Exp(-745), 1e-322);
}

// The bits are the contract: programs and caches depend on them.
TEST(ExpTest, GivesTheseBits) {
  const struct {
    double x;
    uint64_t bits;
  } cases[] = {
      {1.0, 0x4005bf0a8b14576aull},        {-1.0, 0x3fd78b56362cef38ull},
      {-0.0390625, 0x3feec62b5e5881fbull}, {-20.5, 0x3e157a3afeed00acull},
      {100.25, 0x48f8c39b9134bac4ull},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(std::bit_cast<uint64_t>(Exp(c.x)), c.bits)
        << c.x << " gives 0x" << std::hex << std::bit_cast<uint64_t>(Exp(c.x));
  }
}

}  // namespace
}  // namespace edgekiln::ops
