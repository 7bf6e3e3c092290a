#include "server/worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "server/stage_versions.h"
#include "server/worker/blob_client.h"
#include "server/worker/confinement.h"
#include "server/worker/lease_executor.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

using Stream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>;

constexpr int kMaxMessageBytes = 64 << 20;
constexpr auto kFirstBackoff = std::chrono::milliseconds(100);
constexpr auto kLastBackoff = std::chrono::milliseconds(3000);
// Where nobody listens, or nobody has made a secret yet: a daemon that starts
// after its workers has them within half a second.
constexpr auto kLastConnectBackoff = std::chrono::milliseconds(300);
// A daemon that has ended its sessions in an orderly way may be away for that
// long without anything being wrong: it is being restarted, or ends its workers
// next.
constexpr auto kRestartTime = std::chrono::seconds(10);
// How often a worker that waits for a connection looks whether it is to stop.
constexpr auto kConnectPoll = std::chrono::milliseconds(100);
// The daemon says how long silence may last; never slower than this.
constexpr auto kMaxHeartbeat = std::chrono::milliseconds(1000);

// Writes to a stream until the session ends.
class StreamSink : public MessageSink {
 public:
  explicit StreamSink(Stream* stream) : stream_(stream) {}
  void Send(const v1::WorkerMessage& message) override {
    MutexLock lock(mutex_);
    if (stream_ != nullptr) stream_->Write(message);
  }
  void Close() {
    MutexLock lock(mutex_);
    stream_ = nullptr;
  }

 private:
  Mutex mutex_;
  Stream* stream_ ABSL_GUARDED_BY(mutex_);
};

absl::Status WrongDaemon(const std::string& address) {
  return MakeError(
      absl::StatusCode::kUnauthenticated,
      {.fault = Fault::kInfra,
       .reason = "DAEMON_UNKNOWN",
       .what = "the daemon does not know this worker's secret",
       .where = address,
       .limit = "leases are taken from a daemon that proves that it knows it",
       .need = "the file worker_secret of that daemon's state folder",
       .fix = "check the address, and copy the file: edgekiln-worker "
              "--secret-file FILE"});
}

// Of a stream that ended; errors of ours as they are.
absl::Status FromGrpc(const grpc::Status& status) {
  // A daemon that ends cancels what is under way.
  if (status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::CancelledError("the daemon has ended it");
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = "NOT_FOR_WORKERS",
                      .what = "nothing there serves workers",
                      .need = "the daemon's address for workers",
                      .fix = "connect to what its --workers-listen says, not "
                             "to the address for clients"});
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

// The daemon makes it at its first start.
bool IsNoSecretYet(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->reason == kSecretMissing;
}

// Whether trying again leads to the same.
bool IsFinal(const absl::Status& status) {
  if (IsNoSecretYet(status)) return false;
  return absl::IsFailedPrecondition(status) ||
         absl::IsInvalidArgument(status) || absl::IsUnauthenticated(status) ||
         absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
         absl::IsDataLoss(status);
}

std::string WorkerName() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return absl::StrCat(host, ":", getpid());
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // A daemon that was restarted is found again within a moment. The minimum is
  // how long one attempt may take where somebody listens.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   kFirstBackoff.count());
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kLastBackoff.count());
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   kLastConnectBackoff.count());
  // Notices a daemon whose machine vanished; servers take pings more often than
  // every five minutes for an attack.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

class SessionWorker : public Worker {
 public:
  SessionWorker(WorkerOptions options, Logger& log)
      : options_(std::move(options)),
        log_(log),
        channel_(Connect(options_.address)),
        blobs_(
            NewBlobClient(channel_, blob_session_, options_.blob_cache_bytes)),
        compilers_(options_.find_compilers),
        executor_(options_.slots, options_.child, *blobs_,
                  options_.memory_budget_bytes, &compilers_) {}

  absl::Status Run() override {
    confinement_ = ProbeConfinement(options_.child);
    confinement_.set_memory_budget_bytes(options_.memory_budget_bytes);
    log_.Info("confinement of stages: ", ConfinementText(confinement_));
    std::thread heartbeat([this] { Heartbeat(); });
    auto backoff = kFirstBackoff;
    auto told_at = std::chrono::steady_clock::time_point::min();
    auto silence = kFirstBackoff;
    auto may_be_away = std::chrono::steady_clock::time_point::min();
    bool told_of_secret = false;
    absl::Status fatal;
    while (!Stopping() && fatal.ok()) {
      bool served = false;
      const absl::Status status = RunSession(served);
      if (Stopping()) break;
      if (IsFinal(status)) {
        fatal = status;
        break;
      }
      if (served) backoff = silence = kFirstBackoff;
      const auto now = std::chrono::steady_clock::now();
      if (served && absl::IsCancelled(status)) {
        may_be_away = now + kRestartTime;
      }
      const LogLevel level =
          now < may_be_away ? LogLevel::kInfo : LogLevel::kWarning;
      const bool nobody = IsNoSecretYet(status) || absl::IsUnavailable(status);
      if (nobody) backoff = std::min(backoff, kLastConnectBackoff);
      if (!IsNoSecretYet(status)) {
        // Tries are told of ever less often.
        if (served || now >= told_at + silence) {
          log_.Write(level,
                     absl::StrCat("no session with ", options_.address, ": ",
                                  status.message(), "; trying again"));
          told_at = now;
          silence = std::min(silence * 2, kLastBackoff);
        }
      } else if (!std::exchange(told_of_secret, true)) {
        log_.Write(level,
                   absl::StrCat("waiting for ", options_.secret_file,
                                ", which this user's daemon makes when it is "
                                "first started; for another daemon, name a "
                                "copy of its file: --secret-file FILE"));
      }
      AwaitRetry(backoff);
      backoff = std::min(backoff * 2, kLastBackoff);
    }
    Stop();
    heartbeat.join();
    return fatal;
  }

  void Stop() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
    changed_.NotifyAll();
  }

 private:
  bool Stopping() {
    MutexLock lock(mutex_);
    return stopping_;
  }

  // Before the next session; shorter if the worker is stopped, or as soon as
  // there is a connection where there was none. gRPC drives a connection only
  // while somebody waits for it, and calls on a channel that has failed return
  // at once. So without waiting for the channel, all attempts to connect would
  // time out, for as long as the worker lives.
  void AwaitRetry(std::chrono::milliseconds backoff) {
    const auto end = std::chrono::steady_clock::now() + backoff;
    const bool connected = channel_->GetState(true) == GRPC_CHANNEL_READY;
    while (!connected && !Stopping() &&
           std::chrono::steady_clock::now() < end) {
      if (channel_->WaitForConnected(std::chrono::system_clock::now() +
                                     kConnectPoll)) {
        return;
      }
    }
    MutexLock lock(mutex_);
    while (!stopping_ && changed_.WaitUntil(lock, end)) {
    }
  }

  void SetContext(grpc::ClientContext* context) {
    MutexLock lock(mutex_);
    context_ = context;
    if (stopping_ && context != nullptr) context->TryCancel();
  }

  // `served`: whether the daemon took this worker.
  absl::Status RunSession(bool& served) {
    EK_ASSIGN_OR_RETURN(const std::string secret,
                        ReadWorkerSecret(options_.secret_file));
    EK_ASSIGN_OR_RETURN(const std::string nonce, NewNonce());
    grpc::ClientContext context;
    SetContext(&context);
    const auto stub = v1::Workers::NewStub(channel_);
    const std::unique_ptr<Stream> stream = stub->Session(&context);
    const auto sink = std::make_shared<StreamSink>(stream.get());
    absl::Status refused;
    v1::DaemonMessage message;
    std::string daemon_nonce;
    if (stream->Read(&message)) {
      daemon_nonce = message.challenge().nonce();
      SendHello(*sink, Proof(Side::kWorker, secret, daemon_nonce, nonce),
                nonce);
      if (stream->Read(&message)) {
        served = IsProof(message.welcome().proof(), Side::kDaemon, secret,
                         daemon_nonce, nonce);
        if (!served) refused = WrongDaemon(options_.address);
      }
    }
    if (!refused.ok()) context.TryCancel();
    if (served) {
      blob_session_.Set(message.welcome().session());
      do {
        Receive(message, sink);
      } while (stream->Read(&message));
    }
    // Results of this session's leases are of no use to the next one: the
    // daemon gives them to somebody else.
    sink->Close();
    executor_.CancelAll();
    const grpc::Status status = stream->Finish();
    SetContext(nullptr);
    return refused.ok() ? FromGrpc(status) : refused;
  }

  void SendHello(MessageSink& sink, const std::string& proof,
                 const std::string& nonce) {
    v1::WorkerMessage message;
    v1::WorkerMessage::Hello& hello = *message.mutable_hello();
    hello.set_build_digest(BuildDigest());
    hello.set_name(WorkerName());
    for (const v1::WorkerRole role : options_.roles) hello.add_roles(role);
    hello.set_slots(options_.slots);
    hello.set_nonce(nonce);
    hello.set_proof(proof);
    *hello.mutable_confinement() = confinement_;
    const auto installed = compilers_.Get();
    for (const v1::Compiler& compiler : installed->list()) {
      *hello.add_compilers() = compiler;
    }
    sink.Send(message);
  }

  void Receive(v1::DaemonMessage& message,
               const std::shared_ptr<StreamSink>& sink) {
    switch (message.message_case()) {
      case v1::DaemonMessage::kWelcome: {
        log_.Info("connected to ", options_.address);
        const auto wanted =
            std::chrono::milliseconds(message.welcome().heartbeat_ms());
        MutexLock lock(mutex_);
        heartbeat_ = std::clamp(wanted, kFirstBackoff, kMaxHeartbeat);
        return;
      }
      case v1::DaemonMessage::kLease:
        executor_.Add(std::move(*message.mutable_lease()), sink);
        return;
      case v1::DaemonMessage::kCancel:
        executor_.Cancel(message.cancel().lease_id());
        return;
      case v1::DaemonMessage::kChallenge:
      case v1::DaemonMessage::MESSAGE_NOT_SET:
        return;
    }
  }

  void Heartbeat() {
    MutexLock lock(mutex_);
    while (true) {
      const auto end = std::chrono::steady_clock::now() + heartbeat_;
      while (!stopping_ && changed_.WaitUntil(lock, end)) {
      }
      if (stopping_) return;
      lock.Unlock();
      executor_.SendProgress();
      lock.Lock();
    }
  }

  const WorkerOptions options_;
  Logger& log_;
  const std::shared_ptr<grpc::Channel> channel_;
  BlobSession blob_session_;
  const std::unique_ptr<BlobClient> blobs_;
  CurrentCompilers compilers_;
  LeaseExecutor executor_;
  v1::WorkerMessage::Confinement confinement_;  // Of the thread in Run().
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::chrono::milliseconds heartbeat_ ABSL_GUARDED_BY(mutex_) = kMaxHeartbeat;
};

}  // namespace

std::unique_ptr<Worker> NewWorker(WorkerOptions options, Logger& log) {
  return std::make_unique<SessionWorker>(std::move(options), log);
}

}  // namespace edgekiln::server
