#ifndef EK_SERVER_DAEMON_JOBS_ACTIVE_JOB_H_
#define EK_SERVER_DAEMON_JOBS_ACTIVE_JOB_H_

// A job that is queued or runs: what it is doing, what it tells the journal,
// and until when it may. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_log.h"
#include "server/daemon/stages/stage_runner.h"

namespace edgekiln::server {

class ActiveJob : public std::enable_shared_from_this<ActiveJob> {
 public:
  // `job` is QUEUED, and the journal knows it; of its request the head is kept
  // (job_head.h). `client`: whose turn it takes; see JobManager::Create(). The
  // rest must outlive the job, which runs in the threads of `executor`.
  static std::shared_ptr<ActiveJob> New(const v1::Job& job,
                                        const std::string& client,
                                        StageRunner& runner,
                                        JobJournal& journal, Executor& executor,
                                        Clock& clock);

  const std::string& id() const { return id_; }
  const std::string& client() const { return client_; }
  const v1::CreateJobRequest& request_head() const { return request_; }
  StageGroup& stages() { return *stages_; }
  Executor& executor() { return executor_; }  // Its own.

  // Makes the job end with `why`; its stages are cancelled. False if it is over
  // or was told before. `superseded_by` is the newer job, if that is why.
  bool Stop(const absl::Status& why, const std::string& superseded_by = "");
  // What Stop() was given first; OK if it was not called.
  absl::Status stop_reason();
  // Non-OK once a deadline has passed.
  absl::Status Overdue();

  // It is the `position`-th of those that wait; `eta` until it may run.
  void TellPosition(int64_t position, int max_running,
                    std::optional<absl::Duration> eta);

  // An event that no stage tells, unless the job is over.
  void Tell(v1::JobEvent event);
  // Why no stage of it runs.
  void TellWaitingFor(const v1::JobEvent::Waiting& why);
  // Goal SWEEP: how far it is.
  void SetSweep(const v1::SweepSummary& summary);
  // What Wake() calls: now and then, and once the job is to end.
  void set_wake(std::function<void()> wake);
  void Wake();

  // Writes how it ended; nothing is told afterwards. `done` is called once that
  // is durable. Returns the job as it is now, of its request the head.
  v1::Job Finish(JobResult result, JobJournal::Done done);

  // The stages that are over so far, and what the job waits for, into a copy of
  // this job that is not over.
  void CopyStages(v1::Job& job);

 private:
  ActiveJob(const v1::Job& job, const std::string& client, JobJournal& journal,
            Executor& executor, Clock& clock);

  // What the job's stages tell becomes its events, unless it is over.
  StageGroupHooks Hooks();
  void OnStarted(const StageId& stage);
  void OnProgress(const StageId& stage, const v1::StageProgress& progress);
  void OnWaiting(const StageId& stage, const v1::JobEvent::Waiting& why);
  void OnFinished(const StageId& stage, const v1::Report::Stage& record);
  void OnWarned(const StageId& stage, const std::string& text);
  void OnSamples(const v1::JobEvent::Samples& samples);
  void OnCounted(const v1::JobEvent::Counted& counted);
  void StartRunning() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TookWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellWaiting(const v1::JobEvent::Waiting& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string id_;
  const std::string client_;
  const v1::CreateJobRequest request_;
  JobJournal& journal_;
  Clock& clock_;
  const absl::Duration queued_at_;
  const absl::Duration queue_deadline_;
  const absl::Duration run_deadline_;
  Executor executor_;
  std::unique_ptr<StageGroup> stages_;

  Mutex mutex_;
  v1::Job job_ ABSL_GUARDED_BY(mutex_);  // Without its request.
  // The first stage.
  absl::Duration leased_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  std::set<StageId> at_workers_ ABSL_GUARDED_BY(mutex_);
  // Unless there are some of them.
  absl::Duration waits_since_ ABSL_GUARDED_BY(mutex_);
  absl::Status stop_reason_ ABSL_GUARDED_BY(mutex_);
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration last_progress_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  // Empty unless it waits: for what, and what of that became an event.
  v1::JobEvent::Waiting waiting_ ABSL_GUARDED_BY(mutex_);
  v1::JobEvent::Waiting told_ ABSL_GUARDED_BY(mutex_);
  absl::Duration told_at_ ABSL_GUARDED_BY(mutex_);
  WarningLog warnings_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_ACTIVE_JOB_H_
