#ifndef EK_CLIENT_TEXT_ARGUMENTS_H_
#define EK_CLIENT_TEXT_ARGUMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "client/command_line.h"

// Arguments are bytes, what is sent to a daemon is UTF-8.
namespace edgekiln::client {

// A usage error for a name that is to be sent and is not UTF-8. Paths may be
// any bytes: they stay on this machine.
absl::Status CheckNamesAreText(const CommandLine& line);

// The last part of a path, in a form that can be sent and shown.
std::string ShownFileName(const std::string& path);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TEXT_ARGUMENTS_H_
