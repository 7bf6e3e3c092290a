#ifndef EK_CLIENT_UNREADABLE_FILE_H_
#define EK_CLIENT_UNREADABLE_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::client {

// The UsageError of a file of the user's that cannot be read. `why` is what a
// FileSystem said of `path`: its limit and need are kept. `where` is the option
// that named the file, or `path`. `fix` may be empty, and is not used where the
// cause has a better one: a folder, a pipe, too large a file.
absl::Status UnreadableError(absl::string_view path, absl::string_view where,
                             const absl::Status& why,
                             absl::string_view fix = "");

}  // namespace edgekiln::client

#endif  // EK_CLIENT_UNREADABLE_FILE_H_
