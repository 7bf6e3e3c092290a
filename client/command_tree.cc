#include "client/command_tree.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace edgekiln::client {
namespace {

// Help is broken into lines for terminals.
std::string OneLine(const std::string& text) {
  return absl::StrJoin(
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

OptionInfo Read(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) {
    info.flags.push_back(absl::StrCat("-", name));
  }
  for (const std::string& name : option.get_lnames()) {
    info.flags.push_back(absl::StrCat("--", name));
  }
  const bool takes_value = option.get_items_expected_max() > 0;
  if (info.flags.empty()) {
    info.value = option.get_name();
    info.type = option.get_type_name();
  } else if (takes_value) {
    info.value = option.get_type_name();
    info.type = info.value;
  }
  info.group = option.get_group();
  info.description = OneLine(option.get_description());
  info.required = option.get_required();
  return info;
}

CommandInfo Read(CLI::App& app, std::vector<std::string> path) {
  CommandInfo info;
  info.description = OneLine(app.get_description());
  info.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    info.options.push_back(Read(*option));
  }
  for (CLI::App* command :
       app.get_subcommands([](CLI::App*) { return true; })) {
    std::vector<std::string> below = path;
    below.push_back(command->get_name());
    info.commands.push_back(Read(*command, std::move(below)));
  }
  info.path = std::move(path);
  return info;
}

}  // namespace

std::vector<std::string> OptionInfo::Choices() const {
  if (!absl::StrContains(type, '|')) return {};
  std::vector<std::string> choices = absl::StrSplit(type, '|');
  // "JOB|FILE": what is written in capitals stands for something else.
  const bool literal =
      std::all_of(type.begin(), type.end(), [](unsigned char c) {
        return c == '|' || c == '-' || absl::ascii_islower(c);
      });
  return literal ? choices : std::vector<std::string>();
}

bool OptionInfo::IsPath() const {
  for (const char* kind : {"FILE", "DATA", "DIR", "MODEL", "SOURCE", "OUT."}) {
    if (absl::StrContains(value, kind) || absl::StrContains(type, kind)) {
      return true;
    }
  }
  return false;
}

CommandInfo CommandTree(CLI::App& root) { return Read(root, {}); }

std::vector<const CommandInfo*> AllCommands(const CommandInfo& command) {
  std::vector<const CommandInfo*> all = {&command};
  for (const CommandInfo& below : command.commands) {
    const std::vector<const CommandInfo*> more = AllCommands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string CommandName(const CommandInfo& command, const char* separator) {
  std::vector<std::string> words = {"edgekiln"};
  words.insert(words.end(), command.path.begin(), command.path.end());
  return absl::StrJoin(words, separator);
}

}  // namespace edgekiln::client
