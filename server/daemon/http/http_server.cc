#include "server/daemon/http/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/daemon/http/exchange.h"
#include "server/daemon/http/http_connections.h"
#include "server/daemon/listen_address.h"
#include "server/daemon/net/listen_sockets.h"

namespace edgekiln::server {
namespace {

// Of a connection that neither asks nor reads.
constexpr unsigned int kIdleSeconds = 30;
// Half of it for the head of a request, the rest for what is made of it.
constexpr size_t kConnectionBytes = HttpConnections::kMaxOneHeadBytes;
constexpr std::chrono::seconds kPingInterval{15};
constexpr std::chrono::milliseconds kLookInterval{100};  // For long heads.
// While nobody is connected.
constexpr std::chrono::milliseconds kIdleLookInterval{1000};
constexpr int kMaxMessageBytes = 16 << 20;

absl::Status NotStarted(const std::string& address, int error) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "HTTP",
                    .what = "the HTTP server did not start",
                    .where = address,
                    .need = strerror(error),
                    .fix = "raise the limits of threads and open files"});
}

class MicrohttpdServer final : public HttpServer {
 public:
  MicrohttpdServer(const HttpOptions& options,
                   std::shared_ptr<grpc::Channel> daemon,
                   std::function<absl::Status()> ready, ListenSockets sockets)
      : sockets_(std::move(sockets)) {
    context_.daemon = std::make_unique<grpc::GenericStub>(std::move(daemon));
    context_.ready = std::move(ready);
    context_.connections = std::make_unique<HttpConnections>(
        static_cast<size_t>(options.max_connections));
    context_.loopback = IsLoopback(options.address);
    context_.max_body_bytes = static_cast<size_t>(options.max_body_bytes);
    context_.max_live = static_cast<size_t>(options.max_connections) / 2;
    context_.max_bodies_bytes = static_cast<size_t>(options.max_bodies_bytes);
  }

  ~MicrohttpdServer() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    if (maintenance_.joinable()) maintenance_.join();
    // First no new connections; what these gave back is ours to close.
    std::vector<MHD_socket> listening;
    for (MHD_Daemon* const daemon : daemons_) {
      listening.push_back(MHD_quiesce_daemon(daemon));
    }
    context_.live.End();
    for (MHD_Daemon* const daemon : daemons_) MHD_stop_daemon(daemon);
    for (const MHD_socket socket : listening) {
      if (socket != MHD_INVALID_SOCKET) close(socket);
    }
  }

  absl::Status Start(const HttpOptions& options) {
    for (const int descriptor : sockets_.descriptors()) {
      // libmicrohttpd closes what it is given.
      const int mine = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
      if (mine < 0) return NotStarted(options.address, errno);
      // Not epoll: libmicrohttpd 0.9.75 does not see there that a peer has
      // closed within a request, and keeps the connection until it times out.
      MHD_Daemon* const daemon = MHD_start_daemon(
          MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC,
          0, nullptr, nullptr, &Handle, this,                    //
          MHD_OPTION_LISTEN_SOCKET, mine,                        //
          MHD_OPTION_NOTIFY_CONNECTION, &Notice, this,           //
          MHD_OPTION_NOTIFY_COMPLETED, &Completed, this,         //
          MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,           //
          MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,  //
          MHD_OPTION_CONNECTION_LIMIT,
          static_cast<unsigned int>(options.max_connections) +
              static_cast<unsigned int>(HttpConnections::kSpare),
          MHD_OPTION_END);
      if (daemon == nullptr) {
        const int error = errno;
        close(mine);
        return NotStarted(options.address, error);
      }
      daemons_.push_back(daemon);
    }
    maintenance_ = std::thread([this] { RunMaintenance(); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return sockets_.address(); }

 private:
  static MHD_Result Handle(void* cls, MHD_Connection* connection,
                           const char* path, const char* verb,
                           const char* /*version*/, const char* data,
                           size_t* size, void** state) {
    auto* const self = static_cast<MicrohttpdServer*>(cls);
    if (*state == nullptr) {
      *state = new Exchange(self->context_, connection, verb, path);
    }
    return static_cast<Exchange*>(*state)->Continue(data, size);
  }

  static void Notice(void* cls, MHD_Connection* connection, void** /*socket*/,
                     MHD_ConnectionNotificationCode code) {
    HttpConnections& all =
        *static_cast<MicrohttpdServer*>(cls)->context_.connections;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) return all.Closed(connection);
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != nullptr) all.Opened(connection, info->connect_fd);
  }

  static void Completed(void* cls, MHD_Connection* connection, void** state,
                        MHD_RequestTerminationCode /*why*/) {
    static_cast<MicrohttpdServer*>(cls)->context_.connections->Asking(
        connection);
    delete static_cast<Exchange*>(*state);
    *state = nullptr;
  }

  // Pings streams and cuts long heads, until the end.
  void RunMaintenance() {
    using Clock = std::chrono::steady_clock;
    auto ping_at = Clock::now() + kPingInterval;
    MutexLock lock(mutex_);
    while (!stopping_) {
      lock.Unlock();
      if (Clock::now() >= ping_at) {
        context_.live.PingAll();
        ping_at = Clock::now() + kPingInterval;
      }
      const bool connected = context_.connections->CutLongHeads();
      lock.Lock();
      const auto next =
          Clock::now() + (connected ? kLookInterval : kIdleLookInterval);
      while (!stopping_ && changed_.WaitUntil(lock, next)) {
      }
    }
  }

  const ListenSockets sockets_;
  ExchangeContext context_;
  std::vector<MHD_Daemon*> daemons_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread maintenance_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(
    const HttpOptions& options, const std::string& daemon,
    std::function<absl::Status()> ready, Logger& log) {
  EK_RETURN_IF_ERROR(CheckListenAddress(options.address));
  EK_ASSIGN_OR_RETURN(ListenSockets sockets,
                      ListenSockets::Open(options.address));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Not one that others of this process use.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto server = std::make_unique<MicrohttpdServer>(
      options,
      grpc::CreateCustomChannel(DialAddress(daemon),
                                grpc::InsecureChannelCredentials(), arguments),
      std::move(ready), std::move(sockets));
  EK_RETURN_IF_ERROR(server->Start(options));
  log.Info("HTTP on ", server->address());
  return server;
}

}  // namespace edgekiln::server
