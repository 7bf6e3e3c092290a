#ifndef EK_CLIENT_COMMANDS_QUANTIZE_H_
#define EK_CLIENT_COMMANDS_QUANTIZE_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln quantize`: what became of each layer, and with -o an ONNX model.
// With --compare a row for each of several methods instead.
absl::Status RunQuantize(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_QUANTIZE_H_
