#include "server/daemon/listener.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/listen_address.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
// Calls that have not ended by themselves are cancelled after this.
constexpr std::chrono::milliseconds kShutdownGrace{300};
// What a sender may have under way beyond what we have taken; together with a
// message at either end, what is sent again after a break stays below 4 MiB.
// gRPC's own guess of the bandwidth would let it grow to more.
constexpr int kStreamWindowBytes = 2 << 20;
constexpr int kKeepAliveMs = 20'000;
constexpr int kKeepAliveTimeoutMs = 10'000;
// For what comes between the first bytes and the client's settings.
constexpr int kHandshakeMs = 10'000;
// A connection without a call ends; its client makes another when it has one.
constexpr int kMaxIdleMs = 300'000;
// Calls at once on one connection: a tool that watches all of its jobs has
// many.
constexpr int kMaxStreams = 4096;
constexpr int kMaxMetadataBytes = 16 << 10;
// Threads that stay for the next call. By default there are two, and nearly
// every call makes one and ends it.
constexpr int kIdleThreads = 16;

void SetArguments(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                             kStreamWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             kKeepAliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
}

}  // namespace

absl::Status Listener::Start(const std::string& address, AcceptOptions options,
                             int max_threads, Clock& clock, Logger& log) {
  EK_RETURN_IF_ERROR(CheckListenAddress(address));
  // First: whoever is refused the address has changed nothing.
  EK_ASSIGN_OR_RETURN(ListenSockets sockets, ListenSockets::Open(address));
  grpc::ServerBuilder builder;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  SetArguments(builder);
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(max_threads);
  builder.SetResourceQuota(quota);
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, 1);
  builder.SetSyncServerOption(Option::MAX_POLLERS, kIdleThreads);
  for (const auto& service : services_) builder.RegisterService(service.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return MakeError(absl::StatusCode::kInternal,
                     {.fault = Fault::kInfra,
                      .reason = "GRPC",
                      .what = "gRPC did not start a server",
                      .where = address,
                      .fix = "start the daemon with --verbose to see why"});
  }
  address_ = sockets.address();
  std::unique_ptr<AcceptLoop> loop = StartAcceptLoop(
      std::move(options), std::move(sockets),
      [this](int descriptor) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.fd = descriptor;
        acceptor_->HandleNewConnection(&connection);
      },
      clock, log);
  MutexLock lock(loop_mutex_);
  loop_ = std::move(loop);
  return absl::OkStatus();
}

void Listener::Shutdown() {
  std::unique_ptr<AcceptLoop> ended;
  {
    MutexLock lock(loop_mutex_);
    ended = std::move(loop_);
  }
  ended.reset();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  }
}

void Listener::Wait() {
  if (server_ != nullptr) server_->Wait();
}

grpc::HealthCheckServiceInterface* Listener::health() const {
  return server_ == nullptr ? nullptr : server_->GetHealthCheckService();
}

}  // namespace edgekiln::server
