#ifndef EK_CLIENT_OPTION_BUILDING_H_
#define EK_CLIENT_OPTION_BUILDING_H_

// What the definitions of commands share. Everything is filled into `raw`,
// which must outlive the apps.

#include <CLI/CLI.hpp>
#include <string>

#include "client/option_definitions.h"

namespace edgekiln::client {

// What --help lists options about the job itself under.
inline constexpr char kJobGroup[] = "Job options";

// Tells in our words what CLI11 would in its own.
CLI::Validator WholeNumber();

// --server, --json, --quiet, --timeout.
void AddCommon(CLI::App& app, RawOptions& raw);
// --limit.
void AddLimit(CLI::App& app, RawOptions& raw, const std::string& help);
// -o.
void AddOutput(CLI::App& app, RawOptions& raw, bool required,
               const std::string& type, const std::string& help);
// --stages.
void AddStages(CLI::App& app, RawOptions& raw);
// --follow.
void AddFollow(CLI::App& app, RawOptions& raw);
// Positional arguments, shown as `type`.
void AddNames(CLI::App& app, RawOptions& raw, const std::string& type,
              const std::string& help);

// A command that consists of commands.
CLI::App* AddGroup(CLI::App& root, const std::string& name,
                   const std::string& description);
// A command that prints text about itself: no options of its own yet.
CLI::App* AddTextCommand(CLI::App& parent, RawOptions& raw, Command command,
                         const std::string& name,
                         const std::string& description);
// A command with the common options.
CLI::App* AddCommand(CLI::App& parent, RawOptions& raw, Command command,
                     const std::string& name, const std::string& description);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_OPTION_BUILDING_H_
