#ifndef EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
#define EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_

// Calls of Jobs.WatchJob: each a few kilobytes that wait for the journal, and
// no thread. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/watch_turns.h"
#include "server/daemon/jobs/watched_job.h"
#include "server/executor.h"

namespace edgekiln::server {

class JobWatchers {
 public:
  // More at once are refused with RESOURCE_EXHAUSTED.
  static constexpr int kMaxWatchers = 4096;
  // Watchers of one job that are sent its events as they come: who finds a
  // place free when it begins, or when it waits for news. Those beyond, of all
  // jobs together, share kCrowdEvents between two calls of Tick(). An event
  // takes some 15 us, so that a quarter of a second of them takes 8 ms;
  // starting a turn costs as much as kCrowdTurnEvents events.
  static constexpr int kPromptWatchers = 16;
  static constexpr int64_t kCrowdEvents = 500;
  static constexpr int64_t kCrowdTurnEvents = 10;

  // All must outlive the watchers, that is, the server of the calls; they read
  // in the threads of `executor`.
  JobWatchers(JobStore& store, JobJournal& journal, Executor& executor,
              Activity& activity, int max_watchers = kMaxWatchers)
      : store_(store),
        journal_(journal),
        executor_(executor),
        activity_(activity),
        max_watchers_(max_watchers),
        crowd_(std::make_shared<WatchTurns>(executor, kCrowdEvents,
                                            kCrowdTurnEvents)) {}

  // To be called several times a second.
  void Tick();
  // Calls under way.
  int count() {
    MutexLock lock(mutex_);
    return watchers_;
  }

  // What the method returns to gRPC, which hands over and takes bytes as they
  // are (WithRawCallbackMethod_WatchJob). The stream ends with the job, with
  // the call, and with SHUTTING_DOWN when the journal stops. `peer`: the
  // connection.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(
      const grpc::ByteBuffer& request, const std::string& peer);

 private:
  class Watcher;
  class Refusal;

  // Objects in use, which remove themselves with their last user.
  template <typename T>
  using Used = std::map<std::string, std::weak_ptr<T>>;

  std::shared_ptr<WatchedJob> JobOf(const std::string& id);
  std::shared_ptr<WatchTurns> TurnsOf(const std::string& peer);
  // The one in use for `key`, or else what `make` returns, a new T*.
  template <typename T, typename Make>
  std::shared_ptr<T> Share(Used<T>& used, const std::string& key,
                           const Make& make)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Enter();
  void Leave();

  JobStore& store_;
  JobJournal& journal_;
  Executor& executor_;
  Activity& activity_;
  const int max_watchers_;
  // Of the watchers beyond kPromptWatchers.
  const std::shared_ptr<WatchTurns> crowd_;
  Mutex mutex_;
  int watchers_ ABSL_GUARDED_BY(mutex_) = 0;
  Used<WatchedJob> jobs_ ABSL_GUARDED_BY(mutex_);
  Used<WatchTurns> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
