#include "base/format_bytes.h"

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

TEST(FormatBytesTest, ScalesByPowersOf1024) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(98406), "96.1 KiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(int64_t{5} << 30), "5.0 GiB");
}

}  // namespace
}  // namespace edgekiln
