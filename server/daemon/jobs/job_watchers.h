#ifndef EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
#define EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_

// Calls of Jobs.WatchJob: each a few kilobytes that wait for the journal, and
// no thread. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/watched_job.h"
#include "server/executor.h"

namespace edgekiln::server {

class JobWatchers {
 public:
  // More at once are refused with RESOURCE_EXHAUSTED.
  static constexpr int kMaxWatchers = 4096;

  // All must outlive the watchers, that is, the server of the calls; they read
  // in the threads of `executor`.
  JobWatchers(JobStore& store, JobJournal& journal, Executor& executor,
              Activity& activity, int max_watchers = kMaxWatchers)
      : store_(store),
        journal_(journal),
        executor_(executor),
        activity_(activity),
        max_watchers_(max_watchers) {}

  // What the method returns to gRPC, which hands over and takes bytes as they
  // are (WithRawCallbackMethod_WatchJob). The stream ends with the job, with
  // the call, and with SHUTTING_DOWN when the journal stops.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(
      const grpc::ByteBuffer& request);

 private:
  class Watcher;
  class Refusal;

  // Null if there are too many.
  std::shared_ptr<WatchedJob> Enter(const std::string& job);
  void Leave(const std::string& job);

  JobStore& store_;
  JobJournal& journal_;
  Executor& executor_;
  Activity& activity_;
  const int max_watchers_;
  Mutex mutex_;
  int watchers_ ABSL_GUARDED_BY(mutex_) = 0;
  struct Watched {
    std::shared_ptr<WatchedJob> job;
    int watchers = 0;
  };
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
