#ifndef EK_SERVER_DAEMON_HTTP_LIVE_H_
#define EK_SERVER_DAEMON_HTTP_LIVE_H_

// Calls and streams under way, so that they can be ended: libmicrohttpd must
// not be stopped while connections are suspended.

#include <grpcpp/client_context.h>

#include <algorithm>
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
  // Once it was started.
  void Add(const std::shared_ptr<EventStream>& stream) {
    MutexLock lock(mutex_);
    streams_.insert(stream);
    changed_.NotifyAll();
  }
  // Before it is started, and when its call has ended: streams that nobody
  // takes from any more have calls, too. False once End() was called: then it
  // must not be started.
  bool StreamBegins() {
    MutexLock lock(mutex_);
    if (ending_) return false;
    ++stream_calls_;
    return true;
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
  // Calls `then`, without locks held, before End() returns.
  void Remove(grpc::ClientContext* call, const std::function<void()>& then) {
    {
      MutexLock lock(mutex_);
      calls_.erase(call);
      ++removals_;
    }
    then();
    MutexLock lock(mutex_);
    --removals_;
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
    while (!calls_.empty() || removals_ > 0) changed_.Wait(lock);
    // A stream that began before this may be added only later.
    std::set<std::shared_ptr<EventStream>> ended;
    while (stream_calls_ > 0) {
      const auto next =
          std::find_if(streams_.begin(), streams_.end(),
                       [&](const auto& one) { return ended.count(one) == 0; });
      if (next == streams_.end()) {
        changed_.Wait(lock);
        continue;
      }
      const std::shared_ptr<EventStream> stream = *next;
      ended.insert(stream);
      lock.Unlock();
      stream->End();
      lock.Lock();
    }
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
  size_t removals_ ABSL_GUARDED_BY(mutex_) = 0;  // Threads in `then`.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_LIVE_H_
