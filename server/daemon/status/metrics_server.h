#ifndef EK_SERVER_DAEMON_STATUS_METRICS_SERVER_H_
#define EK_SERVER_DAEMON_STATUS_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "edgekiln/v1/daemon.pb.h"

namespace edgekiln::server {

// Answers GET /metrics in the text format of Prometheus until it is destroyed,
// with one thread for each socket of the address. Clients are not
// authenticated.
class MetricsServer {
 public:
  virtual ~MetricsServer() = default;
  // With the port that was taken.
  virtual const std::string& address() const = 0;
};

// `status` is called once per request, and must not block; it and `log` must
// outlive the server. Errors: those of ListenSockets::Open(), UNAVAILABLE.
absl::StatusOr<std::unique_ptr<MetricsServer>> StartMetricsServer(
    const std::string& address, std::function<v1::DaemonStatus()> status,
    Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STATUS_METRICS_SERVER_H_
