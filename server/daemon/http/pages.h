#ifndef EK_SERVER_DAEMON_HTTP_PAGES_H_
#define EK_SERVER_DAEMON_HTTP_PAGES_H_

// The dashboard: three files, which are the same for every client and use the
// same API as any client.

#include <optional>

#include "absl/strings/string_view.h"
#include "server/daemon/http/answer.h"
#include "web/pages.h"

namespace edgekiln::server {

// "/", "/app.css" and "/app.js"; nothing for other paths. Without `page`, "/"
// is an error that says why, and the others are not there.
std::optional<HttpAnswer> FindPage(
    absl::string_view path,
    const std::optional<web::Page>& page = web::DashboardPage());

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_PAGES_H_
