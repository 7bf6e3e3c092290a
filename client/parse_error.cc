#include "client/parse_error.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/exit_code.h"
#include "client/option_values.h"

namespace edgekiln::client {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub :
       app.get_subcommands(std::function<bool(const CLI::App*)>{})) {
    names.push_back(sub->get_name());
  }
  return names;
}

// The commands below `app` that have that option, "edgekiln validate".
std::vector<std::string> CommandsWith(const CLI::App& app,
                                      const std::string& option) {
  std::vector<std::string> commands;
  for (const CLI::App* sub :
       app.get_subcommands(std::function<bool(const CLI::App*)>{})) {
    if (sub->get_option_no_throw(option) != nullptr) {
      commands.push_back(FullName(sub));
    }
    for (std::string& below : CommandsWith(*sub, option)) {
      commands.push_back(std::move(below));
    }
  }
  return commands;
}

// What an option that `app` does not have may have been.
std::string OptionHint(const CLI::App& app, const std::string& option) {
  const std::string nearest = NearestOf(option, OptionNames(app));
  if (!nearest.empty()) return absl::StrCat("did you mean ", nearest, "? ");
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  const std::vector<std::string> others = CommandsWith(*root, option);
  if (others.empty()) return "";
  return absl::StrCat("it is an option of ", absl::StrJoin(others, ", "), "; ");
}

}  // namespace

const CLI::App* Reached(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string FullName(const CLI::App* app) {
  std::string name = app->get_name();
  for (app = app->get_parent(); app != nullptr; app = app->get_parent()) {
    name = absl::StrCat(app->get_name(), " ", name);
  }
  return name;
}

bool HasUnknownCommand(const CLI::App& root) {
  return !CommandNames(*Reached(&root)).empty() &&
         root.remaining_size(true) > 0;
}

absl::Status UnknownArgument(const CLI::App& app, const std::string& argument) {
  const bool is_option = argument.size() > 1 && argument[0] == '-';
  const std::string bare = argument.substr(0, argument.find('='));
  const std::string help = absl::StrCat("see ", FullName(&app), " --help");
  if (is_option) {
    return UsageError(absl::StrCat("unknown option '", bare, "'"),
                      FullName(&app), "",
                      absl::StrCat(OptionHint(app, bare), help));
  }
  const std::vector<std::string> commands = CommandNames(app);
  const std::string nearest = NearestOf(argument, commands);
  return UsageError(absl::StrCat(commands.empty() ? "unexpected argument '"
                                                  : "unknown command '",
                                 argument, "'"),
                    FullName(&app), "",
                    nearest.empty()
                        ? help
                        : absl::StrCat("did you mean ", nearest, "? ", help));
}

absl::Status FromCliError(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = Reached(&root);
  for (const std::string& argument : root.remaining(true)) {
    if (argument != "--") return UnknownArgument(*app, argument);
  }
  const std::vector<std::string> commands = CommandNames(*app);
  if (!commands.empty()) {
    return UsageError("no command was given", FullName(app),
                      absl::StrCat("one of ", absl::StrJoin(commands, ", ")),
                      absl::StrCat("see ", FullName(app), " --help"));
  }
  const std::string help = absl::StrCat("see ", FullName(app), " --help");
  // What our own checks say of a value: "--limit: 'x' is not a whole number".
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    const std::pair<std::string, std::string> said =
        absl::StrSplit(error.what(), absl::MaxSplits(": ", 1));
    return UsageError(said.second, said.first, "", help);
  }
  return UsageError(error.what(), FullName(app), "", help);
}

}  // namespace edgekiln::client
