#include "client/man_page.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/help.h"

namespace edgekiln::client {
namespace {

// Text as roff: a backslash begins an escape, a hyphen would become a
// typographic one, a dot or quote at the start of a line a request.
std::string Roff(absl::string_view text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  std::vector<std::string> lines = absl::StrSplit(out, '\n');
  for (std::string& line : lines) {
    if (absl::StartsWith(line, ".") || absl::StartsWith(line, "'")) {
      line.insert(0, "\\&");
    }
  }
  return absl::StrJoin(lines, "\n");
}

std::string Bold(absl::string_view text) {
  return absl::StrCat("\\fB", Roff(text), "\\fR");
}

std::string OptionHead(const OptionInfo& option) {
  std::vector<std::string> flags;
  for (const std::string& flag : option.flags) flags.push_back(Bold(flag));
  std::string head = absl::StrJoin(flags, ", ");
  if (!option.value.empty()) {
    absl::StrAppend(&head, head.empty() ? "" : " ", "\\fI", Roff(option.value),
                    "\\fR");
  }
  return head;
}

std::string Synopsis(const CommandInfo& command) {
  const std::string name = Bold(CommandName(command, " "));
  std::string arguments;
  for (const OptionInfo& option : command.options) {
    if (!option.flags.empty()) continue;
    absl::StrAppend(&arguments, " \\fI", Roff(option.value), "\\fR");
  }
  const std::string options = " [\\fIOPTIONS\\fR]";
  if (command.commands.empty()) {
    return absl::StrCat(name, options, arguments, "\n");
  }
  std::string lines = absl::StrCat(name, " \\fICOMMAND\\fR", options, "\n");
  // One that can be run without a command behind it.
  if (!arguments.empty()) {
    lines = absl::StrCat(name, options, arguments, "\n.br\n", lines);
  }
  return lines;
}

std::string Options(const CommandInfo& command) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : command.options) {
    if (!option.flags.empty() && !absl::c_linear_search(groups, option.group)) {
      groups.push_back(option.group);
    }
  }
  std::string out;
  for (const OptionInfo& option : command.options) {
    if (!option.flags.empty()) continue;
    absl::StrAppend(&out, out.empty() ? ".SH ARGUMENTS\n" : "", ".TP\n",
                    OptionHead(option), "\n", Roff(option.description), "\n");
  }
  for (const std::string& group : groups) {
    absl::StrAppend(&out, ".SH ", absl::AsciiStrToUpper(group), "\n");
    for (const OptionInfo& option : command.options) {
      if (option.flags.empty() || option.group != group) continue;
      absl::StrAppend(&out, ".TP\n", OptionHead(option), "\n",
                      Roff(option.description), "\n");
    }
  }
  return out;
}

// As --help shows it: columns are part of it.
std::string Verbatim(const std::string& text) {
  if (text.empty()) return "";
  return absl::StrCat(".SH NOTES\n.nf\n", Roff(absl::StripSuffix(text, "\n")),
                      "\n.fi\n");
}

std::string Reference(const std::string& name) {
  return absl::StrCat(Bold(name), "(1)");
}

std::string SeeAlso(const CommandInfo& command) {
  std::vector<std::string> pages;
  for (const CommandInfo& below : command.commands) {
    pages.push_back(Reference(CommandName(below, "-")));
  }
  if (!command.path.empty()) {
    CommandInfo above;
    above.path.assign(command.path.begin(), command.path.end() - 1);
    pages.push_back(Reference(CommandName(above, "-")));
  }
  return absl::StrCat(".SH SEE ALSO\n", absl::StrJoin(pages, ", "), "\n");
}

}  // namespace

std::string ManPage(const CommandInfo& command) {
  const std::string name = CommandName(command, "-");
  std::string commands;
  for (const CommandInfo& below : command.commands) {
    absl::StrAppend(&commands, commands.empty() ? ".SH COMMANDS\n" : "",
                    ".TP\n", Bold(below.path.back()), "\n",
                    Roff(below.description), "\n");
  }
  return absl::StrCat(
      ".TH ", absl::AsciiStrToUpper(Roff(name)), " 1 \"\" \"", VersionText(),
      "\" \"User Commands\"\n", ".SH NAME\n", Roff(name), " \\- ",
      Roff(command.description), "\n", ".SH SYNOPSIS\n", Synopsis(command),
      commands, Options(command), Verbatim(command.footer), SeeAlso(command));
}

}  // namespace edgekiln::client
