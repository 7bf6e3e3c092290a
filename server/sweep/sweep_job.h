#ifndef EK_SERVER_SWEEP_SWEEP_JOB_H_
#define EK_SERVER_SWEEP_SWEEP_JOB_H_

// The way of a sweep: planned by a stage, then one job per cell, a bounded
// number at a time. Knows nothing of how jobs are kept or run.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"
#include "server/job_context.h"
#include "server/sweep/plan_stage.h"
#include "server/task.h"

namespace edgekiln::server {

// What a sweep needs from around it. Thread-safe.
class SweepContext : public SweepBlobs {
 public:
  // Of the plan.
  virtual JobContext& stages() = 0;
  // Non-OK once the sweep is to end: why.
  virtual absl::Status Stopped() = 0;
  // That it only is interrupted, for another life of the daemon: what its cells
  // do goes on.
  virtual bool Interrupted() = 0;

  // Events that an earlier life told, `planned` and rows, in their order.
  virtual absl::StatusOr<std::vector<v1::JobEvent>> Told() = 0;
  virtual void Tell(v1::JobEvent event) = 0;
  // How far it is, for those who ask.
  virtual void SetSummary(const v1::SweepSummary& summary) = 0;
  // Why nothing moves, until a cell is created.
  virtual void TellWaiting(const absl::Status& why) = 0;

  // The job with this request id, made if there is none. `created` is called
  // once, from within or later; it must not block.
  using Created = std::function<void(absl::StatusOr<v1::Job>)>;
  virtual void CreateCell(const v1::CreateJobRequest& request,
                          Created created) = 0;
  // Calls `over` once the job is over, and stored as such: from within or
  // later; it must not block.
  virtual void AwaitEnd(const std::string& job, std::function<void()> over) = 0;
  virtual void CancelCell(const std::string& job) = 0;
  virtual absl::StatusOr<v1::Job> GetJob(const std::string& job) = 0;
  virtual absl::StatusOr<v1::Report> GetReport(const std::string& job) = 0;
};

// Lets others wake a sweep that waits: to look whether it was stopped, or
// whether what failed can be tried again. Thread-safe.
class SweepBell {
 public:
  virtual ~SweepBell() = default;
  virtual void Ring() = 0;
};

struct SweepLimits {
  int64_t max_cells = 20'000;
  // Jobs of cells at once.
  int max_in_flight = 16;
};

// A sweep to be run, once. `context` must outlive the task.
struct SweepRun {
  std::shared_ptr<SweepBell> bell;
  Task<JobResult> task;
};
SweepRun NewSweepRun(std::string job_id, const v1::CreateJobRequest& request,
                     SweepLimits limits, SweepContext& context);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_SWEEP_JOB_H_
