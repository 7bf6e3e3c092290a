#ifndef EK_SERVER_DAEMON_HTTP_PAGES_H_
#define EK_SERVER_DAEMON_HTTP_PAGES_H_

// The dashboard: files of web/shared and web/dashboard, which are the same for
// everybody. They use the same API as any client.

#include <optional>

#include "absl/strings/string_view.h"
#include "server/daemon/http/answer.h"

namespace edgekiln::server {

// "/", "/app.css" and "/app.js"; nothing for other paths.
std::optional<HttpAnswer> FindPage(absl::string_view path);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_PAGES_H_
