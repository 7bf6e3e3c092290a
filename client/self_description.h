#ifndef EK_CLIENT_SELF_DESCRIPTION_H_
#define EK_CLIENT_SELF_DESCRIPTION_H_

// `completion` and `man`: what the program says about itself, without a daemon.

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "client/option_definitions.h"

namespace edgekiln::client {

// `raw` must outlive `root`.
void AddSelfDescriptionCommands(CLI::App& root, RawOptions& raw);

// What such a command prints. Usage errors: no such shell or command.
absl::StatusOr<std::string> SelfDescription(CLI::App& root,
                                            const CommandLine& line);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SELF_DESCRIPTION_H_
