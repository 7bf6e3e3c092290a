#include "server/daemon/jobs/active_job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "proto/convert.h"
#include "server/daemon/fairness/job_class.h"
#include "server/daemon/fairness/wait_estimate.h"
#include "server/daemon/jobs/check_options.h"
#include "server/daemon/jobs/job_end.h"
#include "server/daemon/jobs/job_head.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/state_event.h"
#include "server/daemon/stages/stage_log.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(200);
// How often a job says that its place in a queue has changed.
constexpr absl::Duration kPositionInterval = absl::Seconds(5);
// A wait that is shorter is none.
constexpr absl::Duration kPositionGrace = absl::Seconds(1);
constexpr char kWorkerLost[] =
    "the connection to the worker was lost; the stage is run again";

// Infinite without a deadline. Those of a sweep are of its cells.
absl::Duration DurationOf(const v1::CreateJobRequest& request,
                          bool (v1::JobOptions::*has)() const,
                          const google::protobuf::Duration& value) {
  if (!(request.options().*has)() || Wants(request, v1::SWEEP)) {
    return absl::InfiniteDuration();
  }
  return ToDuration(value);
}

// `told`: what the job waits for; empty if it does not.
absl::Status RunDeadlinePassed(absl::Duration limit,
                               const v1::JobEvent::Waiting& told) {
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   {.fault = Fault::kQuota,
                    .reason = "RUN_DEADLINE",
                    .what = "the job's run deadline has passed",
                    .where = told.reason(),
                    .limit = absl::StrCat(absl::FormatDuration(limit),
                                          " from when a worker has begun it "
                                          "(run_deadline, --run-timeout)"),
                    .fix = "give it more time; what is finished is not "
                           "computed again"});
}

absl::Status QueueDeadlinePassed(absl::Duration limit,
                                 const v1::JobEvent::Waiting& told) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded,
      {.fault = Fault::kQuota,
       .reason = "QUEUE_DEADLINE",
       .what = "no worker took the job's next stage before its queue deadline",
       .where = told.reason(),
       .limit = absl::StrCat(absl::FormatDuration(limit),
                             " of waiting (queue_deadline, --queue-timeout)"),
       .fix = "start edgekiln-worker, or give the job more time to wait"});
}

}  // namespace

ActiveJob::ActiveJob(const v1::Job& job, const std::string& client,
                     JobJournal& journal, Executor& executor, Clock& clock)
    : id_(job.id()),
      client_(client),
      request_(RequestHead(job.request())),
      journal_(journal),
      clock_(clock),
      queued_at_(clock.Monotonic()),
      queue_deadline_(DurationOf(request_, &v1::JobOptions::has_queue_deadline,
                                 request_.options().queue_deadline())),
      run_deadline_(DurationOf(request_, &v1::JobOptions::has_run_deadline,
                               request_.options().run_deadline())),
      executor_(executor, ClassOf(request_) == v1::BATCH),
      job_(JobHead(job)),
      waits_since_(queued_at_) {
  // There since the job was stored.
  job_.clear_request();
}

std::shared_ptr<ActiveJob> ActiveJob::New(const v1::Job& job,
                                          const std::string& client,
                                          StageRunner& runner,
                                          JobJournal& journal,
                                          Executor& executor, Clock& clock) {
  std::shared_ptr<ActiveJob> made(
      new ActiveJob(job, client, journal, executor, clock));
  made->stages_ = std::make_unique<StageGroup>(
      runner, made->Hooks(),
      LeaseOwner{.job_class = ClassOf(job.request()),
                 .client = client,
                 .job = job.id()});
  return made;
}

// The first stage that is found or taken.
void ActiveJob::StartRunning() {
  if (job_.state() != v1::QUEUED) return;
  job_.set_state(v1::RUNNING);
  *job_.mutable_started() = ToTimestamp(clock_.Now());
  journal_.Save(job_);
  journal_.Append(id_, StateEvent(v1::RUNNING));
}

// A worker took a stage, or is done with it.
void ActiveJob::TookWorker() {
  StartRunning();
  waiting_.Clear();
  told_.Clear();
  waits_since_ = clock_.Monotonic();
  leased_at_ = std::min(leased_at_, waits_since_);
}

// Unless it is not worth an event.
void ActiveJob::TellWaiting(const v1::JobEvent::Waiting& why) {
  const absl::Duration now = clock_.Monotonic();
  waiting_ = why;
  if (told_.reason() == why.reason() && told_.position() == why.position() &&
      told_.has_eta() == why.has_eta()) {
    return;
  }
  if (told_.cause() == why.cause() && now - told_at_ < kPositionInterval) {
    return;
  }
  told_ = why;
  told_at_ = now;
  v1::JobEvent event;
  *event.mutable_waiting() = why;
  journal_.Append(id_, std::move(event));
}

StageGroupHooks ActiveJob::Hooks() {
  // Hooks outlive the job; what they say then is dropped.
  const auto to = [weak = weak_from_this()](auto method) {
    return [weak, method](const auto&... news) {
      if (const auto self = weak.lock()) ((*self).*method)(news...);
    };
  };
  StageGroupHooks hooks;
  hooks.started = to(&ActiveJob::OnStarted);
  hooks.progress = to(&ActiveJob::OnProgress);
  hooks.waiting = to(&ActiveJob::OnWaiting);
  hooks.finished = to(&ActiveJob::OnFinished);
  hooks.warned = to(&ActiveJob::OnWarned);
  hooks.samples = to(&ActiveJob::OnSamples);
  hooks.counted = to(&ActiveJob::OnCounted);
  return hooks;
}

void ActiveJob::OnStarted(const StageId& stage) {
  MutexLock lock(mutex_);
  if (over_) return;
  TookWorker();
  if (!at_workers_.insert(stage).second) {
    journal_.Append(id_, LogEvent(v1::JobEvent::Log::INFO, stage.name,
                                  stage.target, kWorkerLost));
  }
  v1::JobEvent event;
  event.mutable_stage_started()->set_name(stage.name);
  event.mutable_stage_started()->set_target(stage.target);
  journal_.Append(id_, std::move(event));
}

void ActiveJob::OnProgress(const StageId& stage,
                           const v1::StageProgress& progress) {
  MutexLock lock(mutex_);
  if (over_) return;
  const absl::Duration now = clock_.Monotonic();
  if (now - last_progress_ < kProgressInterval) return;
  last_progress_ = now;
  v1::JobEvent event;
  event.mutable_progress()->set_stage(stage.name);
  *event.mutable_progress()->mutable_progress() = progress;
  journal_.Append(id_, std::move(event));
}

void ActiveJob::OnWaiting(const StageId& stage,
                          const v1::JobEvent::Waiting& why) {
  MutexLock lock(mutex_);
  if (over_) return;
  // Either it never was at a worker, or that one was lost.
  if (at_workers_.erase(stage) > 0) {
    waits_since_ = clock_.Monotonic();
    journal_.Append(id_, LogEvent(v1::JobEvent::Log::INFO, stage.name,
                                  stage.target, kWorkerLost));
  }
  if (at_workers_.empty()) TellWaiting(why);
}

void ActiveJob::OnFinished(const StageId& stage,
                           const v1::Report::Stage& record) {
  MutexLock lock(mutex_);
  if (over_) return;
  StartRunning();
  if (record.cache() != v1::Report::Stage::HIT) TookWorker();
  at_workers_.erase(stage);
  *job_.add_stages() = record;
  v1::JobEvent event;
  *event.mutable_stage_finished() = record;
  journal_.Append(id_, std::move(event));
}

void ActiveJob::OnSamples(const v1::JobEvent::Samples& samples) {
  MutexLock lock(mutex_);
  if (over_) return;
  v1::JobEvent event;
  *event.mutable_samples() = samples;
  journal_.Append(id_, std::move(event));
}

void ActiveJob::OnWarned(const StageId& stage, const std::string& text) {
  MutexLock lock(mutex_);
  if (over_) return;
  std::optional<v1::JobEvent> line =
      warnings_.Add(stage.name, stage.target, text);
  if (line.has_value()) journal_.Append(id_, *std::move(line));
}

void ActiveJob::OnCounted(const v1::JobEvent::Counted& counted) {
  MutexLock lock(mutex_);
  if (over_) return;
  v1::JobEvent event;
  *event.mutable_counted() = counted;
  journal_.Append(id_, std::move(event));
}

void ActiveJob::Tell(v1::JobEvent event) {
  MutexLock lock(mutex_);
  if (over_) return;
  StartRunning();
  waiting_.Clear();
  told_.Clear();
  journal_.Append(id_, std::move(event));
}

void ActiveJob::TellWaitingFor(const v1::JobEvent::Waiting& why) {
  MutexLock lock(mutex_);
  if (!over_) TellWaiting(why);
}

void ActiveJob::SetSweep(const v1::SweepSummary& summary) {
  MutexLock lock(mutex_);
  if (!over_) *job_.mutable_sweep() = summary;
}

void ActiveJob::set_wake(std::function<void()> wake) {
  MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

void ActiveJob::Wake() {
  std::function<void()> wake;
  {
    MutexLock lock(mutex_);
    wake = wake_;
  }
  if (wake != nullptr) wake();
}

bool ActiveJob::Stop(const absl::Status& why,
                     const std::string& superseded_by) {
  {
    MutexLock lock(mutex_);
    if (over_ || !stop_reason_.ok()) return false;
    stop_reason_ = why;
    job_.set_superseded_by(superseded_by);
  }
  stages_->Cancel(why);
  Wake();
  return true;
}

absl::Status ActiveJob::stop_reason() {
  MutexLock lock(mutex_);
  return stop_reason_;
}

absl::Status ActiveJob::Overdue() {
  const absl::Duration now = clock_.Monotonic();
  MutexLock lock(mutex_);
  if (over_) return absl::OkStatus();
  if (leased_at_ != absl::InfiniteDuration() &&
      now - leased_at_ > run_deadline_) {
    return RunDeadlinePassed(run_deadline_, told_);
  }
  // Between two stages it waits as well: for the worker of the next one.
  return at_workers_.empty() && now - waits_since_ > queue_deadline_
             ? QueueDeadlinePassed(queue_deadline_, told_)
             : absl::OkStatus();
}

void ActiveJob::TellPosition(int64_t position, int max_running,
                             std::optional<absl::Duration> eta) {
  if (clock_.Monotonic() - queued_at_ < kPositionGrace) return;
  v1::JobEvent::Waiting why;
  why.set_cause(v1::JobEvent::Waiting::JOBS_AHEAD);
  why.set_position(position);
  if (eta.has_value()) *why.mutable_eta() = DurationToProto(*eta);
  why.set_reason(
      absl::StrCat("the daemon runs ", max_running, " jobs at once"));
  MutexLock lock(mutex_);
  if (!over_) TellWaiting(why);
}

v1::Job ActiveJob::Finish(JobResult result, JobJournal::Done done) {
  stages_->DropPrefetched();
  v1::Job job;
  {
    MutexLock lock(mutex_);
    // Whatever the stages said when they were stopped, this is why.
    if (!stop_reason_.ok() && !result.status.ok()) {
      result.status = stop_reason_;
    } else {
      job_.clear_superseded_by();
    }
    over_ = true;
    job.Swap(&job_);
  }
  EndJob(result, clock_.Now(), job);
  if (job.has_error()) {
    v1::JobEvent event;
    *event.mutable_error() = job.error();
    journal_.Append(id_, std::move(event));
  }
  v1::Job ended = JobHead(job);
  *ended.mutable_request() = request_;
  const v1::JobState state = job.state();
  journal_.Finish(std::move(job), std::move(result.reports), StateEvent(state),
                  std::move(done));
  return ended;
}

void ActiveJob::CopyStages(v1::Job& job) {
  MutexLock lock(mutex_);
  if (over_) return;  // The end is on its way to the disk.
  *job.mutable_stages() = job_.stages();
  if (job_.has_sweep()) *job.mutable_sweep() = job_.sweep();
  if (!waiting_.reason().empty()) *job.mutable_waiting() = waiting_;
}

}  // namespace edgekiln::server
