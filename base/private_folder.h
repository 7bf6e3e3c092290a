#ifndef EK_BASE_PRIVATE_FOLDER_H_
#define EK_BASE_PRIVATE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace edgekiln {

// Creates the runtime folder with mode 0700 if it is not there, and refuses one
// that belongs to somebody else or is open to others: in /tmp anyone may have
// made it first. Errors: PERMISSION_DENIED (RUNTIME_FOLDER_UNSAFE), UNAVAILABLE
// (RUNTIME_FOLDER_UNUSABLE), which say what to do.
absl::Status MakePrivateFolder(const std::string& folder);

}  // namespace edgekiln

#endif  // EK_BASE_PRIVATE_FOLDER_H_
