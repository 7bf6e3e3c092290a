#ifndef EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
#define EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_

// Calls of Jobs.WatchJob: each a few kilobytes that wait for the journal, and
// no thread. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <memory>

#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_store.h"
#include "server/executor.h"

namespace edgekiln::server {

class JobWatchers {
 public:
  // More at once are refused with RESOURCE_EXHAUSTED.
  static constexpr int kMaxWatchers = 4096;

  // All must outlive the watchers, that is, the server of the calls.
  JobWatchers(JobStore& store, JobJournal& journal, Executor& executor,
              Activity& activity, int max_watchers = kMaxWatchers)
      : store_(store),
        journal_(journal),
        executor_(executor),
        activity_(activity),
        max_watchers_(max_watchers) {}

  // What the method returns to gRPC. The stream ends with the job, with the
  // call, and with SHUTTING_DOWN when the journal stops.
  grpc::ServerWriteReactor<v1::JobEvent>* Watch(
      const v1::WatchJobRequest& request);

 private:
  class Watcher;
  class Refusal;

  bool Enter();
  void Leave();

  JobStore& store_;
  JobJournal& journal_;
  Executor& executor_;
  Activity& activity_;
  const int max_watchers_;
  Mutex mutex_;
  int watchers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_WATCHERS_H_
