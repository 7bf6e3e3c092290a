#include "server/daemon/status/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <prometheus/text_serializer.h>
#include <string.h>
#include <unistd.h>

#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/listen_address.h"
#include "server/daemon/net/listen_sockets.h"
#include "server/daemon/status/metrics.h"

namespace edgekiln::server {
namespace {

// Scrapers are few. Others wait for a connection that is idle too long.
constexpr unsigned int kMaxConnections = 64;
constexpr unsigned int kIdleSeconds = 5;
constexpr size_t kConnectionBytes = 8 << 10;

absl::Status NotStarted(const std::string& address, int error) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "METRICS",
                    .what = "the server for metrics did not start",
                    .where = address,
                    .need = strerror(error),
                    .fix = "raise the limits of threads and open files"});
}

class MicrohttpdMetrics final : public MetricsServer {
 public:
  MicrohttpdMetrics(ListenSockets sockets,
                    std::function<v1::DaemonStatus()> status)
      : sockets_(std::move(sockets)), status_(std::move(status)) {}

  ~MicrohttpdMetrics() override {
    for (MHD_Daemon* const daemon : daemons_) MHD_stop_daemon(daemon);
  }

  absl::Status Start() {
    for (const int descriptor : sockets_.descriptors()) {
      // libmicrohttpd closes what it is given.
      const int mine = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
      if (mine < 0) return NotStarted(address(), errno);
      // Not epoll: see http_server.cc.
      MHD_Daemon* const daemon = MHD_start_daemon(
          MHD_USE_POLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Handle, this,
          MHD_OPTION_LISTEN_SOCKET, mine,                        //
          MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,           //
          MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,  //
          MHD_OPTION_CONNECTION_LIMIT, kMaxConnections, MHD_OPTION_END);
      if (daemon == nullptr) {
        const int error = errno;
        close(mine);
        return NotStarted(address(), error);
      }
      daemons_.push_back(daemon);
    }
    return absl::OkStatus();
  }

  const std::string& address() const override { return sockets_.address(); }

 private:
  static MHD_Result Handle(void* cls, MHD_Connection* connection,
                           const char* path, const char* verb,
                           const char* /*version*/, const char* /*data*/,
                           size_t* size, void** /*state*/) {
    if (*size > 0) return MHD_NO;  // Nobody is asked for a body.
    const absl::string_view asked(verb);
    if (asked != "GET" && asked != "HEAD") {
      return Answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
    }
    if (absl::string_view(path) != "/metrics") {
      return Answer(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
    }
    const auto* const self = static_cast<MicrohttpdMetrics*>(cls);
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, MetricsOf(self->status_()));
    return Answer(connection, MHD_HTTP_OK, text.str());
  }

  static MHD_Result Answer(MHD_Connection* connection, unsigned int code,
                           const std::string& text) {
    MHD_Response* const response = MHD_create_response_from_buffer(
        text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, "Content-Type",
                            "text/plain; version=0.0.4; charset=utf-8");
    const MHD_Result queued = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return queued;
  }

  const ListenSockets sockets_;
  const std::function<v1::DaemonStatus()> status_;
  std::vector<MHD_Daemon*> daemons_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> StartMetricsServer(
    const std::string& address, std::function<v1::DaemonStatus()> status,
    Logger& log) {
  EK_RETURN_IF_ERROR(CheckListenAddress(address));
  EK_ASSIGN_OR_RETURN(ListenSockets sockets, ListenSockets::Open(address));
  auto server = std::make_unique<MicrohttpdMetrics>(std::move(sockets),
                                                    std::move(status));
  EK_RETURN_IF_ERROR(server->Start());
  log.Info("metrics on ", server->address());
  return server;
}

}  // namespace edgekiln::server
