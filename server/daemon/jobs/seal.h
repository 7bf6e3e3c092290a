#ifndef EK_SERVER_DAEMON_JOBS_SEAL_H_
#define EK_SERVER_DAEMON_JOBS_SEAL_H_

// A checksum around what is stored in a column: SQLite finds damaged pages only
// where they hold its own structure. It covers the row's key, so that a value
// cannot pass for that of another row.

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace edgekiln::server {

// 16 hex digits of SHA-256 over key and payload, then the payload.
std::string Seal(absl::string_view key, absl::string_view payload);

// The payload; nothing unless Seal() made it with this key.
std::optional<std::string> Unseal(absl::string_view key,
                                  absl::string_view sealed);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_SEAL_H_
