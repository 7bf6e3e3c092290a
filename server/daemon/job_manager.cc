#include "server/daemon/job_manager.h"

#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "google/protobuf/util/time_util.h"
#include "server/daemon/shutting_down.h"
#include "server/daemon/stage_group.h"
#include "server/proto_convert.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kMaxRequestIdBytes = 128;
// A vanished intermediate result is computed again so often.
constexpr int kMaxRuns = 3;
constexpr absl::Duration kProgressInterval = absl::Milliseconds(200);

std::string NewJobId() {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(random()));
  return absl::StrCat("j", ToHex(bytes));
}

google::protobuf::Timestamp Timestamp(absl::Time time) {
  return TimeUtil::MicrosecondsToTimestamp(absl::ToUnixMicros(time));
}

// How long the job may still wait or run; infinite without a deadline.
absl::Duration DurationOf(const v1::JobOptions& options,
                          bool (v1::JobOptions::*has)() const,
                          const google::protobuf::Duration& value) {
  if (!(options.*has)()) return absl::InfiniteDuration();
  return absl::Microseconds(TimeUtil::DurationToMicroseconds(value));
}

absl::Status DeadlinePassed(absl::string_view which, absl::Duration limit) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded,
      {.fault = Fault::kQuota,
       .reason = "DEADLINE",
       .what = absl::StrCat("the job's ", which, " deadline has passed"),
       .limit = absl::FormatDuration(limit),
       .fix = "give it more time, or look why it waits"});
}

v1::JobEvent StateEvent(v1::JobState state) {
  v1::JobEvent event;
  event.set_state(state);
  return event;
}

}  // namespace

// A job in memory. Its mutex guards what follows it.
struct JobManager::ActiveJob {
  std::string id;
  v1::CreateJobRequest request;
  absl::Duration queued_at;
  absl::Duration queue_deadline;
  absl::Duration run_deadline;
  std::shared_ptr<StageGroup> stages;

  std::mutex mutex;
  v1::Job job;
  absl::Duration started_at = absl::InfiniteDuration();
  absl::Status stop_reason;  // Non-OK: the job ends with it.
  bool over = false;
  absl::Duration last_progress = -absl::InfiniteDuration();
  std::string last_waiting;
};

JobManager::JobManager(JobManagerOptions options, JobStore& store,
                       JobJournal& journal, StageRunner& stages,
                       cache::BlobStore& blobs, Clock& clock, Logger& log)
    : options_(options),
      store_(store),
      journal_(journal),
      stages_(stages),
      blobs_(blobs),
      clock_(clock),
      log_(log) {}

JobManager::~JobManager() { Stop(); }

void JobManager::Stop() {
  std::vector<ActivePtr> active;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [id, job] : active_) active.push_back(job);
  }
  work_.notify_all();
  for (const ActivePtr& job : active) {
    job->stages->Cancel(ShuttingDown());
  }
  for (std::thread& runner : runners_) runner.join();
  runners_.clear();
}

absl::Status JobManager::Start() {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs, store_.Unfinished());
  for (v1::Job job : jobs) {
    log_.Info("job ", job.id(), " is run again");
    journal_.Track(job.id(), job.last_sequence());
    job.set_state(v1::QUEUED);
    job.clear_stages();
    journal_.Append(job.id(), StateEvent(v1::QUEUED));
    journal_.Save(job);
    Enqueue(job);
  }
  for (int i = 0; i < options_.max_running; ++i) {
    runners_.emplace_back([this] { RunLoop(); });
  }
  return absl::OkStatus();
}

absl::Status JobManager::CheckBlobs(const v1::CreateJobRequest& request) {
  std::vector<std::pair<std::string, v1::Digest>> blobs = {
      {"model", request.model()}};
  for (const v1::TargetRef& target : request.targets()) {
    blobs.emplace_back(absl::StrCat("target ", target.name()), target.digest());
  }
  for (const v1::Digest& file : request.calibration().files()) {
    blobs.emplace_back("calibration", file);
  }
  for (const v1::Digest& file : request.data().files()) {
    blobs.emplace_back("data", file);
  }
  for (const auto& [what, proto] : blobs) {
    EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(proto), what);
    EK_ASSIGN_OR_RETURN(const bool present, blobs_.Contains(digest));
    if (present) continue;
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        {.fault = Fault::kUser,
         .reason = "BLOB_MISSING",
         .what = absl::StrCat("the ", what, " blob is not on this server"),
         .where = digest.ToString(),
         .fix = "upload it first"});
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Job> JobManager::Create(
    const v1::CreateJobRequest& request) {
  EK_RETURN_IF_ERROR(ValidateRequest(request));
  if (request.request_id().size() > kMaxRequestIdBytes ||
      request.targets_size() > options_.max_targets) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "REQUEST_TOO_LARGE",
         .what = "the request has too long an id or too many targets",
         .limit = absl::StrCat(kMaxRequestIdBytes, " bytes, ",
                               options_.max_targets, " targets"),
         .need = absl::StrCat(request.request_id().size(), " bytes, ",
                              request.targets_size(), " targets"),
         .fix = "split the job"});
  }
  EK_RETURN_IF_ERROR(CheckBlobs(request));
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return ShuttingDown();
    if (static_cast<int>(queue_.size()) >= options_.max_queued) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       {.fault = Fault::kQuota,
                        .reason = "QUEUE_FULL",
                        .what = "too many jobs wait already",
                        .limit = absl::StrCat(options_.max_queued, " jobs"),
                        .fix = "try again later"});
    }
  }
  v1::Job job;
  job.set_id(NewJobId());
  job.set_state(v1::QUEUED);
  *job.mutable_request() = request;
  *job.mutable_created() = Timestamp(clock_.Now());
  v1::JobEvent event = StateEvent(v1::QUEUED);
  event.set_sequence(1);
  *event.mutable_time() = job.created();
  EK_ASSIGN_OR_RETURN(const v1::Job stored, store_.Create(job, event));
  if (stored.id() == job.id()) {
    journal_.Track(job.id(), 1);
    Enqueue(job);
    return stored;
  }
  if (!google::protobuf::util::MessageDifferencer::Equals(stored.request(),
                                                          request)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "REQUEST_ID_REUSED",
                      .what = "this request_id belongs to another request",
                      .where = absl::StrCat("job ", stored.id()),
                      .fix = "choose a new request_id for a new request"});
  }
  return Get(stored.id());
}

StageGroupHooks JobManager::HooksFor(const std::weak_ptr<ActiveJob>& weak) {
  StageGroupHooks hooks;
  // Hooks outlive the job; what they say then is dropped.
  const auto append = [this, weak](auto fill) {
    const ActivePtr self = weak.lock();
    if (self == nullptr) return;
    std::lock_guard lock(self->mutex);
    if (self->over) return;
    v1::JobEvent event;
    if (fill(*self, event)) journal_.Append(self->id, std::move(event));
  };
  hooks.started = [append](const std::string& stage, int target) {
    append([&](ActiveJob& self, v1::JobEvent& event) {
      self.last_waiting.clear();
      event.mutable_stage_started()->set_name(stage);
      event.mutable_stage_started()->set_target(target);
      return true;
    });
  };
  hooks.progress = [append, this](const std::string& stage,
                                  const v1::StageProgress& progress) {
    append([&](ActiveJob& self, v1::JobEvent& event) {
      const absl::Duration now = clock_.Monotonic();
      if (now - self.last_progress < kProgressInterval) return false;
      self.last_progress = now;
      event.mutable_progress()->set_stage(stage);
      *event.mutable_progress()->mutable_progress() = progress;
      return true;
    });
  };
  hooks.waiting = [append](const std::string& reason) {
    append([&](ActiveJob& self, v1::JobEvent& event) {
      if (self.last_waiting == reason) return false;
      self.last_waiting = reason;
      event.mutable_waiting()->set_reason(reason);
      return true;
    });
  };
  hooks.finished = [append](const v1::Report::Stage& record) {
    append([&](ActiveJob& self, v1::JobEvent& event) {
      self.last_waiting.clear();
      *self.job.add_stages() = record;
      *event.mutable_stage_finished() = record;
      return true;
    });
  };
  hooks.samples = [append](const v1::JobEvent::Samples& samples) {
    append([&](ActiveJob&, v1::JobEvent& event) {
      *event.mutable_samples() = samples;
      return true;
    });
  };
  return hooks;
}

void JobManager::Enqueue(const v1::Job& job) {
  auto active = std::make_shared<ActiveJob>();
  active->id = job.id();
  active->request = job.request();
  active->queued_at = clock_.Monotonic();
  const v1::JobOptions& options = active->request.options();
  active->queue_deadline = DurationOf(
      options, &v1::JobOptions::has_queue_deadline, options.queue_deadline());
  active->run_deadline = DurationOf(options, &v1::JobOptions::has_run_deadline,
                                    options.run_deadline());
  active->job = job;
  active->stages = std::make_shared<StageGroup>(stages_, HooksFor(active));
  {
    std::lock_guard lock(mutex_);
    active_[job.id()] = active;
    queue_.push_back(active);
  }
  work_.notify_one();
}

void JobManager::RunLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const ActivePtr active = queue_.front();
    queue_.pop_front();
    lock.unlock();
    Run(active);
    lock.lock();
  }
}

void JobManager::Run(const ActivePtr& active) {
  bool runs = false;
  {
    std::lock_guard lock(active->mutex);
    runs = active->stop_reason.ok();
    if (runs) {
      active->started_at = clock_.Monotonic();
      active->job.set_state(v1::RUNNING);
      *active->job.mutable_started() = Timestamp(clock_.Now());
      journal_.Save(active->job);
      journal_.Append(active->id, StateEvent(v1::RUNNING));
    }
  }
  JobResult result;
  if (runs) result = RunStages(active);
  if (!result.status.ok() && Interrupted(active)) return;
  Finish(active, std::move(result));
}

// Whether the job is not over, only interrupted: the next daemon goes on. What
// was asked to end has ended.
bool JobManager::Interrupted(const ActivePtr& active) {
  {
    std::lock_guard lock(active->mutex);
    if (!active->stop_reason.ok()) return false;
  }
  std::lock_guard lock(mutex_);
  return stopping_;
}

JobResult JobManager::RunStages(const ActivePtr& active) {
  JobResult result;
  for (int run = 1; run <= kMaxRuns; ++run) {
    result = RunCompileJob(active->id, active->request, *active->stages);
    const std::optional<ErrorDetail> error = GetErrorDetail(result.status);
    if (!error.has_value() || error->reason != kInputLost) return result;
    log_.Warning("job ", active->id, ": ", result.status.message());
    // What was uploaded cannot be computed again.
    if (absl::Status missing = CheckBlobs(active->request); !missing.ok()) {
      result.status = std::move(missing);
      return result;
    }
  }
  return result;
}

void JobManager::Finish(const ActivePtr& active, JobResult result) {
  v1::JobState state = v1::SUCCEEDED;
  v1::Job job;
  {
    std::lock_guard lock(active->mutex);
    // Whatever the stages said when they were stopped, this is why.
    if (!active->stop_reason.ok() &&
        (!result.status.ok() || active->job.state() == v1::QUEUED)) {
      result.status = active->stop_reason;
    }
    if (!result.status.ok()) {
      state = absl::IsCancelled(result.status) ? v1::CANCELLED : v1::FAILED;
    }
    active->over = true;
    active->job.set_state(state);
    *active->job.mutable_finished() = Timestamp(clock_.Now());
    if (state == v1::FAILED) {
      *active->job.mutable_error() = ErrorToProto(result.status);
      v1::JobEvent event;
      *event.mutable_error() = active->job.error();
      journal_.Append(active->id, std::move(event));
    }
    if (state == v1::CANCELLED) result.reports.clear();
    active->job.clear_artifacts();
    for (v1::Artifact& artifact : result.artifacts) {
      *active->job.add_artifacts() = std::move(artifact);
    }
    if (result.description.inputs_size() + result.description.layers_size() >
        0) {
      *active->job.mutable_description() = result.description;
    }
    active->job.set_reports(static_cast<int>(result.reports.size()));
    job = active->job;
  }
  journal_.Finish(job, std::move(result.reports), StateEvent(state));
  journal_.Flush();
  log_.Info("job ", job.id(), " ", v1::JobState_Name(state),
            state == v1::FAILED ? ": " : "",
            state == v1::FAILED ? job.error().message() : "");
  std::lock_guard lock(mutex_);
  active_.erase(job.id());
}

JobManager::ActivePtr JobManager::Find(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto it = active_.find(id);
  return it == active_.end() ? nullptr : it->second;
}

absl::StatusOr<v1::Job> JobManager::Get(const std::string& id) {
  const ActivePtr active = Find(id);
  EK_ASSIGN_OR_RETURN(v1::Job job, store_.Get(id));
  if (active == nullptr || job.state() > v1::RUNNING) return job;
  std::lock_guard lock(active->mutex);
  if (active->over) return job;  // The end is on its way to the disk.
  *job.mutable_stages() = active->job.stages();
  return job;
}

void JobManager::End(const ActivePtr& active, const absl::Status& why) {
  {
    std::lock_guard lock(active->mutex);
    if (active->over || !active->stop_reason.ok()) return;
    active->stop_reason = why;
  }
  active->stages->Cancel(why);
  bool queued = false;
  {
    std::lock_guard lock(mutex_);
    for (auto it = queue_.begin(); it != queue_.end(); ++it) {
      if (*it != active) continue;
      queue_.erase(it);
      queued = true;
      break;
    }
  }
  if (!queued) return;
  JobResult result;
  result.status = why;
  Finish(active, std::move(result));
}

absl::StatusOr<v1::Job> JobManager::Cancel(const std::string& id) {
  if (const ActivePtr active = Find(id)) {
    {
      // Nobody would carry it out.
      std::lock_guard lock(mutex_);
      if (stopping_) return ShuttingDown();
    }
    End(active, absl::CancelledError("the job was cancelled"));
  }
  return Get(id);
}

void JobManager::Tick() {
  std::vector<ActivePtr> active;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, job] : active_) active.push_back(job);
  }
  const absl::Duration now = clock_.Monotonic();
  for (const ActivePtr& job : active) {
    absl::Status why;
    {
      std::lock_guard lock(job->mutex);
      const bool queued = job->started_at == absl::InfiniteDuration();
      if (queued && now - job->queued_at > job->queue_deadline) {
        why = DeadlinePassed("queue", job->queue_deadline);
      } else if (!queued && now - job->started_at > job->run_deadline) {
        why = DeadlinePassed("run", job->run_deadline);
      }
    }
    if (!why.ok()) End(job, why);
  }
}

bool JobManager::Busy() {
  std::lock_guard lock(mutex_);
  return !active_.empty();
}

}  // namespace edgekiln::server
