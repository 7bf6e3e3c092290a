#ifndef EK_CLIENT_SWEEP_OPTIONS_H_
#define EK_CLIENT_SWEEP_OPTIONS_H_

// The command `sweep` as CLI11 is told it, and its values.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::client {

struct RawOptions;

// `sweep` alone, and with `run`, `list`, `show`, `watch` and `cancel` behind
// it. `add_job` adds the options that `sweep` shares with `validate`.
void AddSweepCommands(CLI::App& root, RawOptions& raw,
                      void (*add_job)(CLI::App& app, RawOptions& raw));

// "pes=16,32": a key and the values that it takes. Usage errors.
absl::StatusOr<v1::SweepVary> ParseVary(const std::string& text);
// "target=dla-64-* pes=64": conditions, of which a cell meets all.
absl::StatusOr<v1::SweepExclude> ParseExclude(const std::string& text);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_OPTIONS_H_
