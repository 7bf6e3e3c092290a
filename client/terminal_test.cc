#include "client/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace edgekiln::client {
namespace {

TEST(TerminalTest, Utf8IsWhatTheFirstVariableSays) {
  const struct {
    TerminalVariables variables;
    bool want;
  } cases[] = {
      {{}, false},
      {{.lang = "C"}, false},
      {{.lang = "en_US.UTF-8"}, true},
      {{.lang = "de_DE.utf8"}, true},
      {{.lc_ctype = "C", .lang = "en_US.UTF-8"}, false},
      {{.lc_all = "C.UTF-8", .lc_ctype = "C", .lang = "C"}, true},
      {{.lc_all = "POSIX", .lc_ctype = "C.UTF-8"}, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IsUtf8(c.variables), c.want)
        << c.variables.lc_all << " " << c.variables.lc_ctype << " "
        << c.variables.lang;
  }
}

TEST(TerminalTest, PlainHasNeitherColoursNorALiveLine) {
  const struct {
    TerminalVariables variables;
    bool plain;
  } cases[] = {
      {{.term = "xterm"}, false},
      {{.no_color = "1", .term = "xterm"}, true},
      {{.term = "dumb"}, true},
      {{}, false},
  };
  for (const auto& c : cases) {
    const Style style = StyleFor(100, c.variables);
    EXPECT_EQ(style.Bold("a") == "a", c.plain);
    EXPECT_EQ(style.width(), 100);
    EXPECT_EQ(ProgressStyleFor(100, c.variables),
              c.plain ? ProgressStyle::kPlain : ProgressStyle::kLive);
  }
}

TEST(TerminalTest, FilesAndPipesAreTheSameWhateverTheVariables) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(TerminalColumns(ends[1]), 0);
  close(ends[0]);
  close(ends[1]);
  const TerminalVariables rich = {.term = "xterm", .lang = "en_US.UTF-8"};
  const Style style = StyleFor(0, rich);
  EXPECT_EQ(style.width(), 0);
  EXPECT_FALSE(style.utf8());
  EXPECT_EQ(style.Red("a"), "a");
  EXPECT_EQ(ProgressStyleFor(0, rich), ProgressStyle::kPlain);
}

}  // namespace
}  // namespace edgekiln::client
