#ifndef EK_CLIENT_COMMANDS_TARGETS_H_
#define EK_CLIENT_COMMANDS_TARGETS_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln targets list`: the targets, and the recipes they have.
absl::Status RunTargetsList(CommandContext& context);
// `edgekiln targets show NAME`: the text of the descriptor, as a file would
// hold it.
absl::Status RunTargetsShow(CommandContext& context);
// `edgekiln targets check FILE`: OK and its recipes, or what is wrong with it.
absl::Status RunTargetsCheck(CommandContext& context);
// `edgekiln targets sources FILE...`: the files as `c_sources` of a descriptor.
absl::Status RunTargetsSources(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_TARGETS_H_
