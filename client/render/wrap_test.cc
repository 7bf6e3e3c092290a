#include "client/render/wrap.h"

#include <gtest/gtest.h>

#include <string>

namespace edgekiln::client {
namespace {

TEST(WrappedTest, BreaksBetweenWords) {
  const struct {
    const char* text;
    int indent;
    int width;
    const char* want;
  } cases[] = {
      {"short", 2, 10, "short"},
      {"no limit at all", 2, 0, "no limit at all"},
      {"one two three", 2, 8, "one two\n  three"},
      {"label     one two three", 10, 18, "label     one two\n          three"},
      // Numbers stay whole, with their units.
      {"about 12 345 678 cycles", 0, 20, "about\n12 345 678 cycles"},
      {"read 4.0 KiB   written 100 B", 2, 14,
       "read 4.0 KiB\n  written\n  100 B"},
      // Parts stay whole if they can.
      {"read 4.0 KiB   written 100 B", 2, 22, "read 4.0 KiB\n  written 100 B"},
      {"about 12 layers", 0, 8, "about 12\nlayers"},
      // A long word goes on below.
      {"at abcdefghijkl", 0, 8, "at\nabcdefgh\nijkl"},
      {"\xE5\xB1\xA4\xE5\xB1\xA4 \xE5\xB1\xA4", 0, 5,
       "\xE5\xB1\xA4\xE5\xB1\xA4\n\xE5\xB1\xA4"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Wrapped(c.text, c.indent, Style::Of({.width = c.width})), c.want);
  }
}

TEST(WrappedTest, ColoursTakeNoRoom) {
  const Style style = Style::Terminal(9);
  EXPECT_EQ(Wrapped(style.Green("one two six"), 0, style),
            "\x1b[32mone two\nsix\x1b[0m");
  EXPECT_EQ(Wrapped(style.Green("four five"), 0, style),
            "\x1b[32mfour five\x1b[0m");
}

TEST(WrappedTest, PathsCanBeLeftWhole) {
  EXPECT_EQ(Wrapped("see /a/long/path now", 2, Style::Of({.width = 8}),
                    LongWord::kWhole),
            "see\n  /a/long/path\n  now");
}

TEST(LabelledTest, AlignsItsText) {
  EXPECT_EQ(Labelled("cycles", "2 000 and more", Style::Of({.width = 20})),
            "cycles      2 000\n            and more\n");
}

}  // namespace
}  // namespace edgekiln::client
