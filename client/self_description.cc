#include "client/self_description.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/wrap_help.h"
#include "client/command_tree.h"
#include "client/completion.h"
#include "client/exit_code.h"
#include "client/man_page.h"
#include "client/option_building.h"
#include "client/option_values.h"

namespace edgekiln::client {
namespace {

absl::StatusOr<std::string> Completion(const CommandInfo& root,
                                       const std::vector<std::string>& names) {
  const std::string shell = absl::StrJoin(names, " ");
  if (shell == "bash") return BashCompletion(root);
  if (shell == "zsh") return ZshCompletion(root);
  return UsageError(absl::StrCat("no completion for the shell '", shell, "'"),
                    "completion", "bash or zsh",
                    "write edgekiln completion bash");
}

absl::StatusOr<std::string> Man(const CommandInfo& root,
                                const std::vector<std::string>& words) {
  std::string wanted = "edgekiln";
  // A page can be named as it is called, "edgekiln-jobs-list", too.
  if (words.size() == 1 && words[0].find("edgekiln") == 0) {
    wanted = words[0];
  } else if (!words.empty()) {
    absl::StrAppend(&wanted, "-", absl::StrJoin(words, "-"));
  }
  // Without what all of them begin with, which would make all alike.
  constexpr absl::string_view kPrefix = "edgekiln-";
  std::vector<std::string> names;
  for (const CommandInfo* command : AllCommands(root)) {
    const std::string name = CommandName(*command, "-");
    if (name == wanted) return ManPage(*command);
    if (absl::StartsWith(name, kPrefix)) {
      names.push_back(name.substr(kPrefix.size()));
    }
  }
  const std::string nearest =
      NearestOf(absl::StripPrefix(wanted, kPrefix), names);
  return UsageError(absl::StrCat("no man page '", wanted, "'"), "man",
                    "a command of edgekiln",
                    nearest.empty()
                        ? "edgekiln man --list has all of them"
                        : absl::StrCat("did you mean ", kPrefix, nearest, "?"));
}

}  // namespace

void AddSelfDescriptionCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddTextCommand(root, raw, Command::kCompletion, "completion",
                                 "A script for completion in bash or zsh");
  app->add_option("SHELL", raw.line.names, "bash or zsh")
      ->type_name("bash|zsh")
      ->required();
  app = AddTextCommand(root, raw, Command::kMan, "man",
                       "A man page: of edgekiln, or of a command");
  app->add_option("COMMAND", raw.line.names, "As it is typed: jobs list")
      ->type_name("");
  app->add_flag("--list", raw.line.list_pages, "The names of all pages");
}

absl::StatusOr<std::string> SelfDescription(CLI::App& root,
                                            const CommandLine& line) {
  const CommandInfo tree = CommandTree(root);
  if (line.command == Command::kCompletion) {
    return Completion(tree, line.names);
  }
  if (!line.list_pages) return Man(tree, line.names);
  std::string names;
  for (const CommandInfo* command : AllCommands(tree)) {
    absl::StrAppend(&names, CommandName(*command, "-"), "\n");
  }
  return names;
}

}  // namespace edgekiln::client
