#include "server/daemon/farm/workers_service.h"

#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "server/daemon/farm/carried_blobs.h"
#include "server/daemon/rpc_status.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

using Stream = grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>;

// Of messages that a worker has not read: leases and cancels of all its slots,
// several times.
constexpr size_t kMaxUnsent = 4096;
// For the message that is being written when a worker has said its last.
constexpr auto kLastWrite = std::chrono::seconds(1);

absl::Status NoHello() {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "NO_HELLO",
                    .what = "the first message is not Hello, or came too late",
                    .limit = "Hello answers Challenge within seconds",
                    .need = "Hello",
                    .fix = "use edgekiln-worker of the daemon's build"});
}

absl::Status NoThread(const std::system_error& error) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kInfra,
       .reason = "NO_THREAD",
       .what = absl::StrCat("no thread for another worker: ", error.what()),
       .limit = "the system's threads of this user",
       .need = "one more",
       .fix = "raise `ulimit -u`, or lower max_workers"});
}

// Writes from a thread of its own: a worker that does not read must not hold
// up the dispatcher.
class StreamLink : public WorkerLink {
 public:
  StreamLink(grpc::ServerContext& context, Stream& stream,
             CarriedBlobs& carried)
      : context_(context), stream_(stream), carried_(carried) {}

  // Errors: RESOURCE_EXHAUSTED (no thread).
  absl::Status Start() {
    try {
      writer_ = std::thread([this] { WriteLoop(); });
    } catch (const std::system_error& error) {
      return NoThread(error);
    }
    return absl::OkStatus();
  }

  // A worker that reads no more must not keep this stream's handler for ever.
  ~StreamLink() override {
    bool stuck = false;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
      const auto end = std::chrono::steady_clock::now() + kLastWrite;
      while (writing_ && changed_.WaitUntil(lock, end)) {
      }
      stuck = writing_;
    }
    if (stuck) context_.TryCancel();
    if (writer_.joinable()) writer_.join();
  }

  void Send(const v1::DaemonMessage& message) override {
    bool stuck = false;
    {
      MutexLock lock(mutex_);
      queue_.push_back(message);
      stuck = queue_.size() > kMaxUnsent;
    }
    changed_.NotifyAll();
    if (stuck) Close(absl::UnavailableError("the worker does not read"));
  }

  void Close(const absl::Status& why) override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      if (why_.ok()) why_ = why;
    }
    changed_.NotifyAll();
    // Ends the read this stream's handler waits in.
    context_.TryCancel();
  }

  absl::Status why() {
    MutexLock lock(mutex_);
    return why_;
  }

 private:
  void WriteLoop() {
    MutexLock lock(mutex_);
    while (true) {
      while (!stopping_ && queue_.empty()) changed_.Wait(lock);
      if (stopping_) return;
      v1::DaemonMessage message = std::move(queue_.front());
      queue_.pop_front();
      writing_ = true;
      lock.Unlock();
      if (message.has_lease()) carried_.AddTo(*message.mutable_lease());
      const bool written = stream_.Write(message);
      lock.Lock();
      writing_ = false;
      changed_.NotifyAll();
      if (!written) return;  // The handler's read fails as well.
    }
  }

  grpc::ServerContext& context_;
  Stream& stream_;
  CarriedBlobs& carried_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::DaemonMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;  // Last: uses the rest.
};

class WorkersService final : public v1::Workers::Service {
 public:
  WorkersService(WorkerGate& gate, Dispatcher& dispatcher,
                 cache::BlobStore& blobs)
      : gate_(gate), dispatcher_(dispatcher), blobs_(blobs) {}

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    return ToGrpc(Serve(*context, *stream));
  }

 private:
  absl::Status Serve(grpc::ServerContext& context, Stream& stream) {
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<WorkerGate::Visitor> visitor,
                        gate_.Admit([&context] { context.TryCancel(); }));
    v1::WorkerMessage message;
    if (!stream.Write(visitor->challenge()) || !stream.Read(&message) ||
        !message.has_hello()) {
      return NoHello();
    }
    EK_ASSIGN_OR_RETURN(v1::DaemonMessage::Welcome welcome,
                        visitor->Enter(message.hello(), context.peer()));
    CarriedBlobs carried(blobs_);
    StreamLink link(context, stream, carried);
    EK_RETURN_IF_ERROR(link.Start());
    EK_ASSIGN_OR_RETURN(
        const uint64_t worker,
        dispatcher_.Connect(message.hello(), &link, std::move(welcome)));
    while (stream.Read(&message)) {
      if (message.has_result()) carried.NoteMade(message.result());
      dispatcher_.Receive(worker, std::move(message));
    }
    dispatcher_.Disconnect(worker);
    return link.why();
  }

  WorkerGate& gate_;
  Dispatcher& dispatcher_;
  cache::BlobStore& blobs_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewWorkersService(WorkerGate& gate,
                                                 Dispatcher& dispatcher,
                                                 cache::BlobStore& blobs) {
  return std::make_unique<WorkersService>(gate, dispatcher, blobs);
}

absl::Status CheckSession(const WorkerGate& gate,
                          const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find(kSessionMetadata);
  return gate.CheckSession(
      found == context.client_metadata().end()
          ? absl::string_view()
          : absl::string_view(found->second.data(), found->second.size()));
}

}  // namespace edgekiln::server
