#include "server/daemon/farm/workers_service.h"

#include <deque>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

using Stream = grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>;

// Writes from a thread of its own: a worker that does not read must not hold
// up the dispatcher.
class StreamLink : public WorkerLink {
 public:
  StreamLink(grpc::ServerContext& context, Stream& stream)
      : context_(context), stream_(stream), writer_([this] { WriteLoop(); }) {}

  ~StreamLink() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    writer_.join();
  }

  void Send(const v1::DaemonMessage& message) override {
    {
      MutexLock lock(mutex_);
      queue_.push_back(message);
    }
    changed_.NotifyAll();
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
      const v1::DaemonMessage message = std::move(queue_.front());
      queue_.pop_front();
      lock.Unlock();
      const bool written = stream_.Write(message);
      lock.Lock();
      if (!written) return;  // The handler's read fails as well.
    }
  }

  grpc::ServerContext& context_;
  Stream& stream_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::DaemonMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;  // Last: uses the rest.
};

class WorkersService final : public v1::Workers::Service {
 public:
  explicit WorkersService(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    v1::WorkerMessage message;
    if (!stream->Read(&message) || !message.has_hello()) {
      return ToGrpc(MakeError(absl::StatusCode::kInvalidArgument,
                              {.fault = Fault::kUser,
                               .reason = "NO_HELLO",
                               .what = "the first message is not Hello"}));
    }
    StreamLink link(*context, *stream);
    const absl::StatusOr<uint64_t> worker =
        dispatcher_.Connect(message.hello(), &link);
    if (!worker.ok()) return ToGrpc(worker.status());
    while (stream->Read(&message)) dispatcher_.Receive(*worker, message);
    dispatcher_.Disconnect(*worker);
    return ToGrpc(link.why());
  }

 private:
  Dispatcher& dispatcher_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewWorkersService(Dispatcher& dispatcher) {
  return std::make_unique<WorkersService>(dispatcher);
}

}  // namespace edgekiln::server
