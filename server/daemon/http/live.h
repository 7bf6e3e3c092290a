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
  bool ending() {
    MutexLock lock(mutex_);
    return ending_;
  }
  // Calls and streams.
  size_t count() {
    MutexLock lock(mutex_);
    return calls_.size() + streams_.size();
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
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_LIVE_H_
