#include "client/option_building.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/wrap_help.h"
#include "client/help.h"

namespace edgekiln::client {
namespace {

// Tells in our words what CLI11 would in its own.
template <typename Value>
CLI::Validator Reads(bool (*parse)(absl::string_view, Value*),
                     const std::string& noun) {
  return CLI::Validator(
      [parse, noun](const std::string& text) {
        Value value;
        return parse(text, &value)
                   ? std::string()
                   : absl::StrCat("'", text, "' is not a ", noun);
      },
      "");
}

}  // namespace

void AddCommon(CLI::App& app, RawOptions& raw) {
  app.add_option("--server", raw.line.server,
                 WrapHelp("Address of a daemon: HOST:PORT or unix:/PATH. "
                          "Default: the variable EDGEKILN_SERVER; without "
                          "both a daemon of your own is found or started"))
      ->type_name("ADDRESS")
      ->group("Common options");
  app.add_flag("--json", raw.line.json,
               WrapHelp("Print JSON with proto field names, and nothing else, "
                        "to the standard output"))
      ->group("Common options");
  app.add_flag("--quiet", raw.line.quiet, "No progress")
      ->group("Common options");
  app.add_option("--timeout", raw.timeout,
                 WrapHelp("Give up after this long: 30s, 5m, 1h30m, or plain "
                          "seconds"))
      ->type_name("DURATION")
      ->group("Common options");
}

void AddLimit(CLI::App& app, RawOptions& raw, const std::string& help) {
  app.add_option("--limit", raw.limit, WrapHelp(help))
      ->type_name("N")
      ->check(WholeNumber());
}

CLI::Validator WholeNumber() {
  return Reads<int64_t>(absl::SimpleAtoi<int64_t>, "whole number");
}

void AddOutput(CLI::App& app, RawOptions& raw, bool required,
               const std::string& type, const std::string& help) {
  auto* option = app.add_option("-o,--output", raw.line.output, help);
  option->type_name(type);
  if (required) option->required();
}

void AddStages(CLI::App& app, RawOptions& raw) {
  app.add_flag("--stages", raw.line.stages,
               WrapHelp("List the stages of the job: what each took, and what "
                        "came from the cache"));
}

void AddFollow(CLI::App& app, RawOptions& raw) {
  app.add_flag("--follow", raw.line.follow,
               WrapHelp("With --json: one line of JSON for each event of the "
                        "job as it comes, then {\"report\": ...} for each "
                        "report. An error is the last line: {\"error\": ...}"))
      ->group(kJobGroup);
}

void AddNames(CLI::App& app, RawOptions& raw, const std::string& type,
              const std::string& help) {
  app.add_option(type, raw.line.names, help)->type_name("")->required();
}

CLI::App* AddGroup(CLI::App& root, const std::string& name,
                   const std::string& description) {
  CLI::App* app = root.add_subcommand(name, description);
  app->footer(absl::StrCat("More about one command: edgekiln ", name,
                           " COMMAND --help"));
  app->require_subcommand(1);
  return app;
}

CLI::App* AddCommand(CLI::App& parent, RawOptions& raw, Command command,
                     const std::string& name, const std::string& description) {
  CLI::App* app = AddTextCommand(parent, raw, command, name, description);
  AddCommon(*app, raw);
  return app;
}

CLI::App* AddTextCommand(CLI::App& parent, RawOptions& raw, Command command,
                         const std::string& name,
                         const std::string& description) {
  CLI::App* app = parent.add_subcommand(name, description);
  app->footer(HelpFooter(command));
  // Commands that contain commands are told apart by the innermost one.
  app->parse_complete_callback([app, &raw, command] {
    if (app->get_subcommands().empty()) raw.line.command = command;
  });
  return app;
}

}  // namespace edgekiln::client
