#include "client/watch.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/pause.h"
#include "client/rpc_status.h"
#include "edgekiln/v1/jobs.grpc.pb.h"

namespace edgekiln::client {
namespace {

// One WatchJob call, read by a thread of its own so that the caller can do
// something else while nothing comes.
class EventStream {
 public:
  enum class Got { kEvent, kNothingYet, kEnd };

  EventStream(v1::Jobs::Stub& stub, const std::string& job_id, int64_t after) {
    request_.set_id(job_id);
    request_.set_after_sequence(after);
    thread_ = std::thread([this, &stub] { Read(stub); });
  }
  ~EventStream() {
    context_.TryCancel();
    thread_.join();
  }

  // Waits for at most `patience`. `status` is set at the end of the stream.
  Got Next(absl::Duration patience, v1::JobEvent& event, absl::Status& status) {
    MutexLock lock(mutex_);
    const auto end =
        std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(patience);
    while (events_.empty() && !ended_ && changed_.WaitUntil(lock, end)) {
    }
    if (!events_.empty()) {
      event = std::move(events_.front());
      events_.pop_front();
      changed_.NotifyAll();
      return Got::kEvent;
    }
    if (!ended_) return Got::kNothingYet;
    status = status_;
    return Got::kEnd;
  }

 private:
  // Bounds what a fast daemon can make us hold; gRPC's flow control does the
  // rest.
  static constexpr size_t kMaxQueued = 1024;
  static constexpr std::chrono::seconds kMaxWait{1};

  void Read(v1::Jobs::Stub& stub) {
    const auto reader = stub.WatchJob(&context_, request_);
    v1::JobEvent event;
    while (reader->Read(&event)) {
      MutexLock lock(mutex_);
      const auto end = std::chrono::steady_clock::now() + kMaxWait;
      while (events_.size() >= kMaxQueued && changed_.WaitUntil(lock, end)) {
      }
      events_.push_back(std::move(event));
      changed_.NotifyAll();
    }
    const absl::Status status = FromGrpc(reader->Finish());
    MutexLock lock(mutex_);
    status_ = status;
    ended_ = true;
    changed_.NotifyAll();
  }

  v1::WatchJobRequest request_;
  grpc::ClientContext context_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::JobEvent> events_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class Watcher {
 public:
  Watcher(grpc::ChannelInterface& channel, v1::Jobs::Stub& stub, Clock& clock,
          const std::string& job_id, int64_t after_sequence,
          const WatchOptions& options, WatchSink& sink)
      : channel_(channel),
        stub_(stub),
        clock_(clock),
        job_id_(job_id),
        sequence_(after_sequence),
        options_(options),
        sink_(sink) {}

  absl::Status Run() {
    absl::Duration broken_since = clock_.Monotonic();
    absl::Duration backoff = options_.first_backoff;
    while (true) {
      progressed_ = false;
      bool stopped = false;
      absl::Status status = FollowOnce(stopped);
      if (stopped) return status;
      if (final_) return absl::OkStatus();
      // A stream that ends well before the last event is a daemon going down.
      if (!status.ok() && !IsTransient(status)) return status;
      if (progressed_) {
        broken_since = clock_.Monotonic();
        backoff = options_.first_backoff;
      }
      if (clock_.Monotonic() - broken_since > options_.give_up_after) {
        return status.ok() ? absl::UnavailableError(
                                 "the daemon ends the event stream early")
                           : status;
      }
      reconnecting_ = true;
      sink_.OnReconnecting(true);
      EK_RETURN_IF_ERROR(Wait(backoff));
      if (options_.revive) EK_RETURN_IF_ERROR(options_.revive());
      backoff = std::min(backoff * 2, options_.max_backoff);
    }
  }

 private:
  // One stream until it ends. `stopped`: by the sink.
  absl::Status FollowOnce(bool& stopped) {
    EventStream stream(stub_, job_id_, sequence_);
    v1::JobEvent event;
    absl::Status status;
    while (true) {
      const EventStream::Got got = stream.Next(options_.tick, event, status);
      if (got == EventStream::Got::kEvent) Deliver(event);
      if (got == EventStream::Got::kEnd) return status;
      if (absl::Status tick = sink_.OnTick(); !tick.ok()) {
        stopped = true;
        return tick;
      }
      // The daemon closes the stream after the last event; do not depend on it.
      if (final_ && got == EventStream::Got::kNothingYet) {
        return absl::OkStatus();
      }
    }
  }

  void Deliver(const v1::JobEvent& event) {
    progressed_ = true;
    if (reconnecting_) sink_.OnReconnecting(false);
    reconnecting_ = false;
    // Told already, before the connection broke.
    if (event.sequence() <= sequence_) return;
    sequence_ = event.sequence();
    if (event.event_case() == v1::JobEvent::kState && IsFinal(event.state())) {
      final_ = true;
    }
    sink_.OnEvent(event);
  }

  absl::Status Wait(absl::Duration duration) {
    const absl::Duration until = clock_.Monotonic() + duration;
    while (clock_.Monotonic() < until) {
      EK_RETURN_IF_ERROR(sink_.OnTick());
      PauseUnlessConnected(channel_, clock_,
                           std::min(options_.tick, until - clock_.Monotonic()));
    }
    return absl::OkStatus();
  }

  grpc::ChannelInterface& channel_;
  v1::Jobs::Stub& stub_;
  Clock& clock_;
  const std::string& job_id_;
  int64_t sequence_;
  const WatchOptions& options_;
  WatchSink& sink_;
  bool final_ = false;
  bool progressed_ = false;
  bool reconnecting_ = false;
};

}  // namespace

bool IsFinal(v1::JobState state) {
  return state == v1::SUCCEEDED || state == v1::FAILED ||
         state == v1::CANCELLED;
}

absl::Status WatchJob(const std::shared_ptr<grpc::Channel>& channel,
                      Clock& clock, const std::string& job_id,
                      int64_t after_sequence, const WatchOptions& options,
                      WatchSink& sink) {
  const std::unique_ptr<v1::Jobs::Stub> stub = v1::Jobs::NewStub(channel);
  return Watcher(*channel, *stub, clock, job_id, after_sequence, options, sink)
      .Run();
}

}  // namespace edgekiln::client
