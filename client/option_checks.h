#ifndef EK_CLIENT_OPTION_CHECKS_H_
#define EK_CLIENT_OPTION_CHECKS_H_

// What options say alone and do not mean together. Usage errors that name the
// option and what to do.

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/status.h"
#include "client/command_line.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::client {

// Tells of an option whether the command line has it.
using Given = std::function<bool(const char*)>;

// Files whose names are given and empty, as an unset variable of a script is.
absl::Status CheckFileNames(const CLI::App& app);

// Of `quantize --compare`, which chooses the methods itself and prints rows.
absl::Status CheckCompare(const Given& given, const CommandLine& line);

// Of `quantize`, where options of --data mean nothing without it.
absl::Status CheckQuantizeData(const Given& given, const CommandLine& line);

// Of `sweep`, where an option cannot have a value of its own and be varied.
absl::Status CheckVaried(const Given& given, const v1::SweepVary& vary);

// Of `compile --name`.
absl::Status CheckNetworkName(const CommandLine& line);

// Of `report html` and `report export`, whose result is not JSON: with --json
// it needs a file to go to.
absl::Status CheckPrintsOneThing(const CommandLine& line);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_OPTION_CHECKS_H_
