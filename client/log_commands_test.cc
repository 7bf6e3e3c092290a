#include "client/log_commands.h"

#include <gtest/gtest.h>

namespace edgekiln::client {
namespace {

std::string Text(absl::string_view text) {
  return LogCommandFilter().Text(text);
}

TEST(LogCommandsTest, NothingInATextIsACommand) {
  EXPECT_EQ(Text("a ##[error]x"), "a ##(error]x");
  EXPECT_EQ(Text("a #\xC2\xAD#\xC2\xAD[x]"), "a #\xC2\xAD#\xC2\xAD(x]");
  EXPECT_EQ(Text("::error::x"), ":.error::x");
  EXPECT_EQ(Text(" \t::error::x\n  :\xC2\xAD:y\r::z"),
            " \t:.error::x\n  :\xC2\xAD.y\r:.z");
  EXPECT_EQ(Text("\xC2\xAD::error::x"), "\xC2\xAD:.error::x");
}

TEST(LogCommandsTest, OtherTextStays) {
  for (const char* text : {"", "aten::add\n  x ::y\n", "# [x] #1 [2]\n",
                           "\x1b[1m#\x1b[0m x: :: y", "a:\n: b\n"}) {
    EXPECT_EQ(Text(text), text);
  }
}

TEST(LogCommandsTest, ACommandInPiecesIsOneToo) {
  LogCommandFilter filter;
  EXPECT_EQ(filter.Text("a #"), "a #");
  EXPECT_EQ(filter.Text("#"), "#");
  EXPECT_EQ(filter.Text("[x]\n:"), "(x]\n:");
  EXPECT_EQ(filter.Text(":error::"), ".error::");
}

TEST(LogCommandsTest, JsonKeepsItsValues) {
  EXPECT_EQ(LogCommandFilter().Json("{\n  \"a::b\": [\"##[x]\"]\n}\n"),
            "{\n  \"a::b\": [\"##\\u005bx]\"]\n}\n");
}

}  // namespace
}  // namespace edgekiln::client
