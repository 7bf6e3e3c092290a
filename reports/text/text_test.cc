#include "reports/text/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "reports/text/table.h"

namespace edgekiln {
namespace {

TEST(TextTest, LatenciesHaveFourDigits) {
  EXPECT_EQ(LatencyText(0.35756), "0.3576 ms");
  EXPECT_EQ(LatencyText(9999), "9999 ms");
  EXPECT_EQ(LatencyText(219783.4), "219.8 s");
}

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

TEST(TextTest, Table) {
  Table table({{"NAME"}, {"N", Align::kRight}});
  table.AddRow({"a", "1"});
  table.AddRow({"long\x1b", "1 000"});
  table.AddRow({"short"});
  EXPECT_EQ(table.Render(Style::Plain()),
            "NAME       N\n"
            "a          1\n"
            "long?  1 000\n"
            "short\n");
  EXPECT_EQ(table.Render(Style::Coloured()).substr(0, 4), "\x1b[1m");
}

TEST(TextTest, TableFitsTheWindow) {
  Table table({{""}, {"", Align::kRight}});
  table.AddRow({"abcdefghijklmnopqrstuvwxyz", "1"});
  table.AddRow({"short", "22"});
  EXPECT_EQ(table.Render(Style::Terminal(24)),
            "abcdefghi...stuvwxyz   1\n"
            "short                 22\n");
  // In the end rather less than a second line.
  EXPECT_EQ(table.Render(Style::Terminal(5)), "abcd\nshor\n");
  Table batch({{"A"}});
  batch.AddRow({"batch_norm_2.fused_batch_norm"});
  batch.AddRow({"batch_norm_4.fused_batch_norm"});
  EXPECT_EQ(batch.Render(Style::Terminal(16)).substr(10),
            "batch_norm_2....\n"
            "batch_norm_4....\n");
  Table ids({{.title = "", .whole = true}, {""}});
  ids.AddRow({"j505f711ec9fe106a", "a_name_too_long"});
  EXPECT_EQ(ids.Render(Style::Terminal(20)), "j505f711ec9fe106a  a\n");
}

TEST(TextTest, TableLeavesOutColumnsByTheirOrder) {
  Table table({{"NAME"},
               {.title = "OP", .drop = 1},
               {"N", Align::kRight},
               {.title = "SHARE", .align = Align::kRight, .drop = 2}});
  table.AddRow({"abcdefghijklmnop", "conv2d", "1 000", "12.5"});
  EXPECT_EQ(table.Render(Style::Terminal(38)).substr(8),
            "              OP          N  SHARE\x1b[0m\n"
            "abcdefghijklmnop  conv2d  1 000   12.5\n");
  // Names first give up what they have beyond twelve columns.
  EXPECT_EQ(table.Render(Style::Terminal(34)).substr(8),
            "          OP          N  SHARE\x1b[0m\n"
            "abcde...mnop  conv2d  1 000   12.5\n");
  EXPECT_EQ(table.Render(Style::Terminal(33)).substr(8),
            "              OP          N\x1b[0m\n"
            "abcdefghijklmnop  conv2d  1 000\n");
  EXPECT_EQ(table.Render(Style::Terminal(20)).substr(8),
            "               N\x1b[0m\nabcde...lmnop  1 000\n");
}

TEST(TextTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(TextWidth("a\xE6\xBC\xA2\xE5\xAD\x97"), 5);  // Two of CJK.
  EXPECT_EQ(TextWidth("e\xCC\x81"), 1);                  // A combining accent.
  EXPECT_EQ(TextWidth("\xF0\x9F\x9A\x80"), 2);           // A rocket.
  EXPECT_EQ(ClipEnd("\xE6\xBC\xA2\xE5\xAD\x97", 3), "\xE6\xBC\xA2");
  EXPECT_EQ(TextWidth(ClipMiddle("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2"
                                 "\xE5\xAD\x97\xE6\xBC\xA2",
                                 7)),
            7);
}

TEST(TextTest, WrapWords) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(WrapWords("", 10), Lines{""});
  EXPECT_EQ(WrapWords("one line", 0), Lines{"one line"});
  EXPECT_EQ(WrapWords("the host runs it", 9), (Lines{"the host", "runs it"}));
  EXPECT_EQ(WrapWords("abcdefgh", 3), (Lines{"abc", "def", "gh"}));
  // Numbers stay in one piece, and with their unit.
  EXPECT_EQ(WrapWords("takes 12 345 cycles", 12),
            (Lines{"takes", "12 345", "cycles"}));
}

}  // namespace
}  // namespace edgekiln
