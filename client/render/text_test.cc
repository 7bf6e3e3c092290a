#include "client/render/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace edgekiln::client {
namespace {

TEST(TextTest, GroupDigits) {
  EXPECT_EQ(GroupDigits(0), "0");
  EXPECT_EQ(GroupDigits(999), "999");
  EXPECT_EQ(GroupDigits(1000), "1 000");
  EXPECT_EQ(GroupDigits(1234567), "1 234 567");
  EXPECT_EQ(GroupDigits(-123456), "-123 456");
  EXPECT_EQ(GroupDigits(std::numeric_limits<int64_t>::min()),
            "-9 223 372 036 854 775 808");
}

TEST(TextTest, FormatTimeSpan) {
  EXPECT_EQ(FormatTimeSpan(absl::Microseconds(230)), "0.2 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(12)), "12.0 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(512)), "512 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(1234)), "1.23 s");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(42000)), "42.0 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(125)), "2 min 05 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(3720)), "1 h 02 min");
  EXPECT_EQ(FormatTimeSpan(absl::InfiniteDuration()), "-");
}

TEST(TextTest, FormatOther) {
  EXPECT_EQ(FormatPercent(0.83, 2), "83.00 %");
  EXPECT_EQ(FormatPercent(std::numeric_limits<double>::quiet_NaN(), 2), "-");
  EXPECT_EQ(FormatFrequency(100'000'000), "100 MHz");
  EXPECT_EQ(FormatFrequency(1'500'000'000), "1.5 GHz");
  EXPECT_EQ(FormatFrequency(5), "5 Hz");
  EXPECT_EQ(Count(1, "mismatch", "mismatches"), "1 mismatch");
  EXPECT_EQ(Count(0, "mismatch", "mismatches"), "0 mismatches");
}

// Names out of hostile models must not drive the terminal.
TEST(TextTest, CleanText) {
  EXPECT_EQ(CleanText("conv_1"), "conv_1");
  EXPECT_EQ(CleanText("a\x1b[2Jb\n"), "a?[2Jb?");
  EXPECT_EQ(CleanText("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(CleanText("\xC2\x9B"
                      "31m"),
            "?31m");                            // C1 control.
  EXPECT_EQ(CleanText("\xC0\xAF"), "??");       // Overlong.
  EXPECT_EQ(CleanText("\xED\xA0\x80"), "???");  // Surrogate.
  EXPECT_EQ(CleanText("ab\xE2\x82"), "ab??");   // Cut short.
  EXPECT_EQ(CleanLines("a\tb\nc\x07"), "a\tb\nc?");
}

TEST(TextTest, Clip) {
  EXPECT_EQ(TextWidth("caf\xC3\xA9"), 4);
  EXPECT_EQ(ClipMiddle("short", 10), "short");
  EXPECT_EQ(ClipMiddle("abcdefghijklmnop", 9), "abc...nop");
  EXPECT_EQ(
      ClipMiddle("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 5),
      "\xC3\xA9...\xC3\xA9");
  EXPECT_EQ(ClipEnd("abcdef", 3), "abc");
  EXPECT_EQ(ClipEnd("abc", -1), "");
}

TEST(TextTest, WidthIsThatOfATerminal) {
  EXPECT_EQ(TextWidth("\xE5\xB1\xA4"
                      "1"),
            3);                                 // East Asian.
  EXPECT_EQ(TextWidth("e\xCC\x81"), 1);         // Combining accent.
  EXPECT_EQ(TextWidth("\xF0\x9F\x94\xA5"), 2);  // Emoji.
  EXPECT_EQ(ClipEnd("\xE5\xB1\xA4\xE5\xB1\xA4", 3), "\xE5\xB1\xA4");
  // No half characters, and no mark without its letter.
  EXPECT_EQ(ClipMiddle("\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4", 7),
            "\xE5\xB1\xA4...\xE5\xB1\xA4");
  EXPECT_EQ(ClipMiddle("abcdefge\xCC\x81h", 6), "ab...h");
}

TEST(TextTest, NamesCannotTurnTheWritingDirection) {
  EXPECT_EQ(CleanText("a\xE2\x80\xAE"
                      "b\xE2\x81\xA6"
                      "c\xE2\x80\x8B"),
            "a?b?c?");
}

}  // namespace
}  // namespace edgekiln::client
