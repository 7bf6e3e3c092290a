#ifndef EK_SERVER_DAEMON_JOB_MANAGER_H_
#define EK_SERVER_DAEMON_JOB_MANAGER_H_

// Accepts jobs, runs them, and knows how they are. A job that was accepted is
// durable; one that was not over when the daemon died is run again, and finds
// in the cache what it had got. Thread-safe.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"
#include "server/daemon/job_journal.h"
#include "server/daemon/job_store.h"
#include "server/daemon/stage_group.h"
#include "server/daemon/stage_runner.h"

namespace edgekiln::server {

struct JobManagerOptions {
  int max_running = 16;   // Jobs at once; each has a thread of its own.
  int max_queued = 1000;  // More are refused with RESOURCE_EXHAUSTED.
  int max_targets = 256;  // Of one job; each has a thread while it runs.
};

class JobManager {
 public:
  // All must outlive the manager.
  JobManager(JobManagerOptions options, JobStore& store, JobJournal& journal,
             StageRunner& stages, cache::BlobStore& blobs, Clock& clock,
             Logger& log);
  ~JobManager();  // As Stop().

  // Queues what the last daemon left and starts running.
  absl::Status Start();

  // Interrupts running jobs without ending them: the next daemon runs them
  // again. Idempotent. Afterwards Create() and Cancel() answer SHUTTING_DOWN.
  // To be called while workers and blobs still work: a stage that fails because
  // they no longer do would fail its job for good.
  void Stop();

  // Errors: those of Jobs.CreateJob.
  absl::StatusOr<v1::Job> Create(const v1::CreateJobRequest& request);
  absl::StatusOr<v1::Job> Get(const std::string& id);
  // Errors: NOT_FOUND.
  absl::StatusOr<v1::Job> Cancel(const std::string& id);

  // Ends jobs whose deadline has passed. To be called about once a second.
  void Tick();
  // Whether any job is queued or running.
  bool Busy();

 private:
  struct ActiveJob;
  using ActivePtr = std::shared_ptr<ActiveJob>;

  void Enqueue(const v1::Job& job);
  // What the job's stages tell becomes its events.
  StageGroupHooks HooksFor(const std::weak_ptr<ActiveJob>& weak);
  void RunLoop();
  void Run(const ActivePtr& active);
  bool Interrupted(const ActivePtr& active);
  JobResult RunStages(const ActivePtr& active);
  void Finish(const ActivePtr& active, JobResult result);
  void End(const ActivePtr& active, const absl::Status& why);
  absl::Status CheckBlobs(const v1::CreateJobRequest& request);
  ActivePtr Find(const std::string& id);

  const JobManagerOptions options_;
  JobStore& store_;
  JobJournal& journal_;
  StageRunner& stages_;
  cache::BlobStore& blobs_;
  Clock& clock_;
  Logger& log_;
  std::mutex mutex_;
  std::condition_variable work_;
  // All guarded by mutex_.
  std::map<std::string, ActivePtr> active_;  // Queued or running.
  std::deque<ActivePtr> queue_;
  bool stopping_ = false;
  std::vector<std::thread> runners_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOB_MANAGER_H_
