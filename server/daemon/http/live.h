#ifndef EK_SERVER_DAEMON_HTTP_LIVE_H_
#define EK_SERVER_DAEMON_HTTP_LIVE_H_

// Calls and streams under way, so that they can be ended: libmicrohttpd must
// not be stopped while connections are suspended.

#include <grpcpp/client_context.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>

#include "base/mutex.h"
#include "server/daemon/http/event_stream.h"

namespace edgekiln::server {

// Thread-safe.
class Live {
 public:
  // False once End() was called: then it must not be begun.
  bool Add(grpc::ClientContext* call) {
    MutexLock lock(mutex_);
    if (ending_) return false;
    calls_.insert(call);
    return true;
  }
  void Add(const std::shared_ptr<EventStream>& stream) {
    MutexLock lock(mutex_);
    streams_.insert(stream);
  }
  // Before it is started, and when its call has ended: streams that nobody
  // takes from any more have calls, too.
  void StreamBegins() {
    MutexLock lock(mutex_);
    ++stream_calls_;
  }
  void StreamEnded() {
    MutexLock lock(mutex_);
    --stream_calls_;
    changed_.NotifyAll();
  }
  bool ending() {
    MutexLock lock(mutex_);
    return ending_;
  }
  // Calls and streams.
  size_t count() {
    MutexLock lock(mutex_);
    return calls_.size() + stream_calls_;
  }
  // Calls `then`, which must not block: End() does not return in between.
  void Remove(grpc::ClientContext* call, const std::function<void()>& then) {
    MutexLock lock(mutex_);
    calls_.erase(call);
    then();
    changed_.NotifyAll();
  }
  void Remove(const std::shared_ptr<EventStream>& stream) {
    MutexLock lock(mutex_);
    streams_.erase(stream);
  }

  void PingAll() {
    for (const auto& stream : Streams()) stream->Ping();
  }

  // Cancels all and waits until calls are removed and streams have ended.
  void End() {
    MutexLock lock(mutex_);
    ending_ = true;
    for (grpc::ClientContext* const call : calls_) call->TryCancel();
    while (!calls_.empty()) changed_.Wait(lock);
    const std::set<std::shared_ptr<EventStream>> streams = streams_;
    lock.Unlock();
    for (const auto& stream : streams) stream->End();
    lock.Lock();
    while (stream_calls_ > 0) changed_.Wait(lock);
  }

 private:
  std::set<std::shared_ptr<EventStream>> Streams() {
    MutexLock lock(mutex_);
    return streams_;
  }

  Mutex mutex_;
  CondVar changed_;
  std::set<grpc::ClientContext*> calls_ ABSL_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<EventStream>> streams_ ABSL_GUARDED_BY(mutex_);
  size_t stream_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_LIVE_H_
