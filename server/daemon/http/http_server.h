#ifndef EK_SERVER_DAEMON_HTTP_HTTP_SERVER_H_
#define EK_SERVER_DAEMON_HTTP_HTTP_SERVER_H_

// The daemon's calls for people with curl (docs/http.md): JSON in, JSON out,
// server-sent events for streams, /healthz and /readyz. It is a client of the
// daemon like any other and knows nothing of its insides.
//
// Web pages of others must not reach it through somebody's browser: no other
// origin may ask, bodies must say that they are JSON, and on loopback the host
// that was asked for must be this machine.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/log.h"

namespace edgekiln::server {

struct HttpOptions {
  std::string address;  // As ListenSockets::Open() takes it.
  // Half of them may be calls and streams under way.
  int max_connections = 256;
  int max_body_bytes = 1 << 20;     // Of one request.
  int max_bodies_bytes = 64 << 20;  // Of all requests together.
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  // With the port that was taken.
  virtual const std::string& address() const = 0;
};

// `daemon`, an address as clients have it, answers the calls. Not a channel in
// the process: that of gRPC 1.51 loses the message before the status now and
// then. Serves from creation to destruction, with a thread for each socket of
// the address and one more, however many ask. `ready` says whether jobs are
// taken, and must not block. `log` must outlive it. Errors: those of
// ListenSockets::Open(), UNAVAILABLE.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(
    const HttpOptions& options, const std::string& daemon,
    std::function<absl::Status()> ready, Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_HTTP_SERVER_H_
