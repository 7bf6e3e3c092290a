#ifndef EK_SERVER_DAEMON_HTTP_JSON_SHAPE_H_
#define EK_SERVER_DAEMON_HTTP_JSON_SHAPE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::server {

inline constexpr int kMaxJsonDepth = 64;
// Entries of lists and fields of objects, together; lists and objects count
// once more.
inline constexpr int kMaxJsonValues = 65'536;

// Whether a text can be parsed at a price in proportion to its length: a
// mebibyte of "{}," takes protobuf a third of a second, in a thread that serves
// everybody. Looks at nothing but brackets and commas outside of strings, at
// some nanoseconds a byte. INVALID_ARGUMENT, REQUEST_TOO_LARGE.
absl::Status CheckJsonShape(absl::string_view json);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_JSON_SHAPE_H_
