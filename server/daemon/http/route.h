#ifndef EK_SERVER_DAEMON_HTTP_ROUTE_H_
#define EK_SERVER_DAEMON_HTTP_ROUTE_H_

// What can be asked over HTTP: each is a method of gRPC (docs/http.md).

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace edgekiln::server {

struct Route {
  absl::string_view verb;  // "GET"
  absl::string_view path;  // "/v1/jobs/{id}": a field of the request in braces.
  absl::string_view method;  // "edgekiln.v1.Jobs.GetJob"
};

absl::Span<const Route> Routes();

struct RouteMatch {
  const Route* route = nullptr;  // Null: there is none.
  std::vector<std::pair<std::string, std::string>> fields;  // Of the path.
  // If there is none: the verbs that the path has.
  std::vector<absl::string_view> verbs;
};

// `path` has no query, and its escapes are resolved. HEAD is GET.
RouteMatch FindRoute(absl::string_view verb, absl::string_view path);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_ROUTE_H_
