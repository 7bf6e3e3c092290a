#ifndef EK_SERVER_DAEMON_JOBS_JOB_MANAGER_H_
#define EK_SERVER_DAEMON_JOBS_JOB_MANAGER_H_

// Accepts jobs, runs them, and knows how they are. A job that was accepted is
// durable; one that was not over when the daemon died is run again, and finds
// in the cache what it had got. Thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "cache/blob_store.h"
#include "cache/disk_space.h"
#include "edgekiln/v1/daemon.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"
#include "server/daemon/jobs/active_job.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_queue.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/one_at_a_time.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/executor.h"
#include "server/sweep/sweep_job.h"
#include "server/task.h"

namespace edgekiln::server {

struct JobManagerOptions {
  int max_running = 32;   // Jobs at once.
  int max_queued = 1000;  // More are refused with RESOURCE_EXHAUSTED.
  int max_targets = 256;  // Of one job.
  int max_sweeps = 8;     // At once; they are not among max_running.
  SweepLimits sweep;
  Retention retention;
  uint64_t seed = 0;  // Of job ids. Another one in every life of the daemon.
};

class JobManager {
 public:
  // All must outlive the manager. Jobs run in `executor`. Stop() ends the
  // journal.
  JobManager(JobManagerOptions options, JobStore& store, JobJournal& journal,
             StageRunner& stages, Executor& executor, cache::BlobStore& blobs,
             cache::DiskSpace& space, Clock& clock, Logger& log);
  ~JobManager();  // As Stop().

  // Queues what the last daemon left and starts running.
  absl::Status Start();

  // Interrupts running jobs without ending them: the next daemon runs them
  // again. Blocks until nothing of them runs any more. Idempotent. Afterwards
  // Create() and Cancel() answer SHUTTING_DOWN. To be called while workers and
  // blobs still work: a stage that fails because they no longer do would fail
  // its job for good.
  void Stop();

  // From now on Create() answers SHUTTING_DOWN; what is there goes on.
  void Drain();

  // Errors: those of Jobs.CreateJob.
  using Created = std::function<void(absl::StatusOr<v1::Job>)>;
  // Calls `created` exactly once, when the job is durable or the request has
  // failed: from within or later, by another thread. It must not block.
  // `peer`: the connection that asks. Jobs take turns by the client that their
  // slot names, or by that.
  void Create(const v1::CreateJobRequest& request, Created created,
              const std::string& peer = "");
  absl::StatusOr<v1::Job> Get(const std::string& id);
  // Takes effect at once, whatever the disk does; the answer waits until that
  // is durable, up to `durable_within`. Errors: NOT_FOUND, UNAVAILABLE with
  // reason CANCEL_NOT_DURABLE (the disk fails: a daemon that is killed before
  // it works again would run the job again).
  absl::StatusOr<v1::Job> Cancel(
      const std::string& id, absl::Duration durable_within = absl::Seconds(2));

  // Ends jobs whose deadline has passed, tells those that wait, forgets old
  // ones. To be called several times a second.
  void Tick();
  // Whether any job is queued or running.
  bool Busy();
  // Sets all but `watchers`.
  void Describe(v1::DaemonStatus::Jobs& jobs);

 private:
  class RunningSweep;
  struct Creation;
  using CreationPtr = std::shared_ptr<Creation>;
  using ActivePtr = std::shared_ptr<ActiveJob>;

  // As Create(), of a request that was checked, for `client`.
  void CreateFor(const v1::CreateJobRequest& request, const std::string& client,
                 Created created);
  absl::Status Reserve(const Creation& creation);
  absl::StatusOr<bool> AnswerRepeated(const CreationPtr& creation);
  std::string NextId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Store(const CreationPtr& creation);
  bool StoreRecalled(const CreationPtr& creation);
  void OnStored(const CreationPtr& creation, const absl::Status& stored);
  void Answer(const CreationPtr& creation, const absl::StatusOr<v1::Job>& job);
  void Supersede(const v1::Job& newer);
  void EndLeftCells(const std::vector<v1::Job>& unfinished);
  void Enqueue(const v1::Job& job, const std::string& client);
  // The next of the queue, if it may run.
  ActivePtr TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunNext();
  void Run(const ActivePtr& active);
  void OnRun(const ActivePtr& active, JobResult result);
  bool Interrupted(const ActivePtr& active);
  Task<JobResult> RunStages(ActivePtr active);
  Task<JobResult> RunSweep(ActivePtr active);
  // Calls `over` once nothing of the job runs and its end is durable.
  void AwaitEnd(const std::string& id, std::function<void()> over);
  JobQueue& QueueOf(const v1::CreateJobRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const ActivePtr& active, JobResult result);
  void End(const ActivePtr& active, const absl::Status& why,
           const std::string& superseded_by = "");
  void ForgetOldJobs();
  // That it is over.
  void Count(v1::JobState state);
  ActivePtr Find(const std::string& id);
  std::vector<ActivePtr> AllActive();

  const JobManagerOptions options_;
  JobStore& store_;
  JobJournal& journal_;
  StageRunner& stages_;
  Executor& executor_;
  cache::BlobStore& blobs_;
  cache::DiskSpace& space_;
  Clock& clock_;
  Logger& log_;
  absl::Duration forget_at_ = -absl::InfiniteDuration();  // Of Tick() only.
  absl::Duration places_at_ = -absl::InfiniteDuration();  // As well.
  OneAtATime begin_;
  Mutex mutex_;
  CondVar idle_;   // Nothing runs.
  CondVar ended_;  // The end of a job is durable.
  Rng ids_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // Queued or running.
  std::map<std::string, ActivePtr> active_ ABSL_GUARDED_BY(mutex_);
  JobQueue queue_ ABSL_GUARDED_BY(mutex_);
  // Jobs that only wait for others, their cells: of those that run, each would
  // keep one of its cells from running.
  JobQueue sweeps_ ABSL_GUARDED_BY(mutex_);
  // By job; of AwaitEnd().
  std::map<std::string, std::vector<std::function<void()>>> awaited_
      ABSL_GUARDED_BY(mutex_);
  // By request_id.
  std::map<std::string, CreationPtr> creations_ ABSL_GUARDED_BY(mutex_);
  // Jobs on their way to the disk.
  int storing_ ABSL_GUARDED_BY(mutex_) = 0;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<v1::JobState, int64_t> over_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, int> storing_of_ ABSL_GUARDED_BY(mutex_);  // By client.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_MANAGER_H_
