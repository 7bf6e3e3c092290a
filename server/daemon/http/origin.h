#ifndef EK_SERVER_DAEMON_HTTP_ORIGIN_H_
#define EK_SERVER_DAEMON_HTTP_ORIGIN_H_

#include "absl/status/status.h"

namespace edgekiln::server {

// Whether a request may come from where it does (docs/http.md): these are its
// headers Host, Origin and Sec-Fetch-Site, null where there is none.
// `loopback`: the address that it came to is for this machine alone. Errors:
// PERMISSION_DENIED, WRONG_HOST and WRONG_ORIGIN.
absl::Status CheckOrigin(const char* host, const char* origin, const char* site,
                         bool loopback);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_ORIGIN_H_
