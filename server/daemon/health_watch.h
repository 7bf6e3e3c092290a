#ifndef EK_SERVER_DAEMON_HEALTH_WATCH_H_
#define EK_SERVER_DAEMON_HEALTH_WATCH_H_

// Polls what the daemon needs (state folder, room on the disk, ports, workers)
// and publishes it to gRPC's health services.

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/disk_space.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/health.h"
#include "server/daemon/listener.h"

namespace edgekiln::server {

struct HealthSources {
  std::function<absl::Status()> check_state;
  std::function<bool()> draining;
  std::string database;  // Must be writable.
  // Room that has to be there again beyond the reserve once there was none.
  int64_t again_bytes = 0;
  cache::DiskSpace& space;
  Dispatcher& dispatcher;
  Listener& clients;
  Listener& workers;
};

// Update() and Ready() are thread-safe; Start() and Stop() are for the owner.
// Sources, `clock` and `log` must outlive it.
class HealthWatch {
 public:
  HealthWatch(HealthSources sources, Clock& clock, Logger& log);
  ~HealthWatch() { Stop(); }
  HealthWatch(const HealthWatch&) = delete;

  // Looks every half a second from now on. Throws std::system_error where the
  // system has no thread to give.
  void Start();
  // Ends the thread. May be called again.
  void Stop();
  // Looks at once.
  void Update();
  // Whether jobs are taken, by the last look. Does not block.
  absl::Status Ready() const;

 private:
  void Loop();
  void CheckPorts();
  absl::Status CheckWritable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HealthSources sources_;
  Clock& clock_;
  Mutex mutex_;
  mutable Mutex ready_mutex_;  // Held for a moment only, unlike the other.
  absl::Status ready_ ABSL_GUARDED_BY(ready_mutex_);
  absl::Status client_port_ ABSL_GUARDED_BY(mutex_);
  absl::Status worker_port_ ABSL_GUARDED_BY(mutex_);
  RoomWatch room_ ABSL_GUARDED_BY(mutex_);
  HealthReporter client_health_ ABSL_GUARDED_BY(mutex_);
  HealthReporter worker_health_ ABSL_GUARDED_BY(mutex_);
  Mutex stop_mutex_;
  CondVar stop_changed_;
  bool stop_ ABSL_GUARDED_BY(stop_mutex_) = false;
  std::thread thread_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HEALTH_WATCH_H_
