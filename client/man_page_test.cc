#include "client/man_page.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "client/option_definitions.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

TEST(ManPageTest, WhatCouldBeReadAsRoffIsText) {
  CommandInfo command;
  command.path = {"burn"};
  command.description = "Fires";
  command.options.push_back({.flags = {"-o", "--out"},
                             .value = "DIR",
                             .type = "DIR",
                             .group = "Options",
                             .description = ".so evil \\n"});
  command.footer = "'tis\n.br\n";
  EXPECT_EQ(ManPage(command),
            ".TH EDGEKILN\\-BURN 1 \"\" \"edgekiln 0.1.0\" \"User Commands\"\n"
            ".SH NAME\nedgekiln\\-burn \\- Fires\n"
            ".SH SYNOPSIS\n\\fBedgekiln burn\\fR [\\fIOPTIONS\\fR]\n"
            ".SH OPTIONS\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-out\\fR \\fIDIR\\fR\n"
            "\\&.so evil \\en\n"
            ".SH NOTES\n.nf\n\\&'tis\n\\&.br\n.fi\n"
            ".SH SEE ALSO\n\\fBedgekiln\\fR(1)\n");
}

TEST(ManPageTest, EveryCommandHasOne) {
  RawOptions raw;
  CLI::App root("", "edgekiln");
  DefineCommands(root, raw);
  const CommandInfo tree = CommandTree(root);
  EXPECT_GT(AllCommands(tree).size(), 20u);
  for (const CommandInfo* command : AllCommands(tree)) {
    const std::string page = ManPage(*command);
    for (const OptionInfo& option : command->options) {
      for (const std::string& flag : option.flags) {
        EXPECT_NE(page.find(absl::StrReplaceAll(flag, {{"-", "\\-"}})),
                  std::string::npos)
            << CommandName(*command, " ") << " " << flag;
      }
    }
    EXPECT_EQ(page.find("\n\n\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace edgekiln::client
