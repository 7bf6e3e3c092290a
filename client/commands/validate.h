#ifndef EK_CLIENT_COMMANDS_VALIDATE_H_
#define EK_CLIENT_COMMANDS_VALIDATE_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln validate`: accuracy and bit-exactness over a labelled data set.
absl::Status RunValidate(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_VALIDATE_H_
