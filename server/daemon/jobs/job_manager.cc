#include "server/daemon/jobs/job_manager.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/util/time_util.h"
#include "server/daemon/jobs/admission.h"
#include "server/daemon/jobs/job_end.h"
#include "server/daemon/jobs/state_event.h"
#include "server/daemon/jobs/whole_answer.h"
#include "server/daemon/shutting_down.h"
#include "server/daemon/stages/stage_log.h"
#include "server/later.h"
#include "server/stage_sequence.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

// Runs of a job at most: its intermediate results may vanish meanwhile.
constexpr int kMaxRuns = 3;
// Between looks at the whole queue for its order.
constexpr absl::Duration kPlacesInterval = absl::Seconds(1);
// Between looks for jobs to forget, unless there were many.
constexpr absl::Duration kForgetInterval = absl::Minutes(1);

bool SameSlot(const v1::CreateJobRequest& a, const v1::CreateJobRequest& b) {
  return a.has_slot() && b.has_slot() && a.slot().name() == b.slot().name() &&
         a.slot().client() == b.slot().client();
}

absl::Status CancelledByClient() {
  return MakeError(absl::StatusCode::kCancelled,
                   {.fault = Fault::kUser,
                    .reason = "CANCELLED",
                    .what = "the job was cancelled",
                    .fix = "create it again; what is finished is not computed "
                           "again"});
}

absl::Status Superseded(const v1::Job& newer) {
  return MakeError(
      absl::StatusCode::kCancelled,
      {.fault = Fault::kUser,
       .reason = "SUPERSEDED",
       .what = "a newer job of the same slot took its place",
       .where = absl::StrCat("slot '",
                             SanitizeText(newer.request().slot().name(), 256),
                             "', job ", newer.id()),
       .fix = absl::StrCat("watch job ", newer.id())});
}

absl::Status NotDurable(const std::string& id, absl::Duration waited) {
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "CANCEL_NOT_DURABLE",
       .what = "the job is cancelled, but the server's disk has not taken that "
               "yet",
       .where = absl::StrCat("job ", id),
       .limit = absl::StrCat("waited ", absl::FormatDuration(waited)),
       .need = "a disk that takes writes",
       .fix =
           "nothing, unless the daemon is killed before: then cancel the job "
           "again"});
}

}  // namespace

JobManager::JobManager(JobManagerOptions options, JobStore& store,
                       JobJournal& journal, StageRunner& stages,
                       Executor& executor, cache::BlobStore& blobs,
                       cache::DiskSpace& space, Clock& clock, Logger& log)
    : options_(options),
      store_(store),
      journal_(journal),
      stages_(stages),
      executor_(executor),
      blobs_(blobs),
      space_(space),
      clock_(clock),
      log_(log),
      ids_(options.seed),
      queue_(options.max_running),
      sweeps_(options.max_sweeps) {}

JobManager::~JobManager() { Stop(); }

void JobManager::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  for (const ActivePtr& job : AllActive()) {
    job->stages().Cancel(ShuttingDown());
    job->Wake();
  }
  {
    MutexLock lock(mutex_);
    while (running_ > 0) idle_.Wait(lock);
  }
  journal_.Stop();
}

void JobManager::Drain() {
  MutexLock lock(mutex_);
  draining_ = true;
}

absl::Status JobManager::Start() {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs, store_.Unfinished());
  for (v1::Job job : jobs) {
    log_.Info("job ", job.id(), " is run again");
    journal_.Track(job.id(), job.last_sequence());
    job.set_state(v1::QUEUED);
    job.clear_stages();
    journal_.Append(job.id(), StateEvent(v1::QUEUED));
    journal_.Append(job.id(),
                    LogEvent(v1::JobEvent::Log::INFO, /*stage=*/"",
                             StageSequence::kAllTargets,
                             "the daemon was restarted; the job is run again, "
                             "and what is finished is not computed again"));
    journal_.Save(job);
    Enqueue(job, ClientOf(job.request(), /*peer=*/""));
    // The last daemon may have died before it could.
    Supersede(job);
  }
  EndLeftCells(jobs);
  {
    MutexLock lock(mutex_);
    started_ = true;
  }
  for (int i = 0; i < options_.max_running; ++i) RunNext();
  return absl::OkStatus();
}

// Cancels what is before `newer` in its slot: all that is there, as jobs come
// here in the order in which they were stored.
void JobManager::Supersede(const v1::Job& newer) {
  if (!newer.request().has_slot()) return;
  std::vector<ActivePtr> older;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, job] : active_) {
      if (id != newer.id() && SameSlot(job->request_head(), newer.request())) {
        older.push_back(job);
      }
    }
  }
  for (const ActivePtr& job : older) End(job, Superseded(newer), newer.id());
}

void JobManager::Enqueue(const v1::Job& job, const std::string& client) {
  const ActivePtr active =
      ActiveJob::New(job, client, stages_, journal_, executor_, clock_);
  // What it has waited in an earlier life of the daemon counts.
  const absl::Duration waited =
      clock_.Now() -
      absl::FromUnixMicros(
          google::protobuf::util::TimeUtil::TimestampToMicroseconds(
              job.created()));
  {
    MutexLock lock(mutex_);
    active_[job.id()] = active;
    QueueOf(job.request())
        .Push(job.id(), job.request(), client,
              clock_.Monotonic() - std::max(waited, absl::ZeroDuration()));
  }
  RunNext();
}

JobManager::ActivePtr JobManager::TakeNext() {
  if (!started_ || stopping_) return nullptr;
  std::optional<std::string> id = queue_.Next(clock_.Monotonic());
  if (!id.has_value()) id = sweeps_.Next(clock_.Monotonic());
  return id.has_value() ? active_.at(*id) : nullptr;
}

// Begins all that may run now. One for which there is no memory ends within
// Run(), and asks for the next.
void JobManager::RunNext() {
  begin_.Run([this] {
    ActivePtr next;
    {
      MutexLock lock(mutex_);
      next = TakeNext();
      if (next == nullptr) return false;
      ++running_;
    }
    Run(next);
    return true;
  });
}

void JobManager::Run(const ActivePtr& active) {
  const bool sweeps = Wants(active->request_head(), v1::SWEEP);
  StartTask(
      active->executor(), sweeps ? RunSweep(active) : RunStages(active),
      [this, active](JobResult result) { OnRun(active, std::move(result)); });
}

// Nothing of the job runs any more. Others take its place.
void JobManager::OnRun(const ActivePtr& active, JobResult result) {
  const bool succeeded = result.status.ok();
  if (succeeded || !Interrupted(active)) Finish(active, std::move(result));
  {
    MutexLock lock(mutex_);
    QueueOf(active->request_head())
        .Ended(active->id(), clock_.Monotonic(), succeeded);
  }
  RunNext();
  MutexLock lock(mutex_);
  // Stop() may end this object once the lock is free.
  if (--running_ == 0) idle_.NotifyAll();
}

// Whether the job is not over, only interrupted: the next daemon goes on. What
// was asked to end has ended.
bool JobManager::Interrupted(const ActivePtr& active) {
  if (!active->stop_reason().ok()) return false;
  MutexLock lock(mutex_);
  return stopping_;
}

Task<JobResult> JobManager::RunStages(ActivePtr active) {
  JobResult result;
  // Only now: a job that waits takes kilobytes.
  const absl::StatusOr<v1::CreateJobRequest> request =
      store_.GetRequest(active->id());
  if (!request.ok()) result.status = request.status();
  for (int run = 1; request.ok() && run <= kMaxRuns; ++run) {
    result.status = active->stop_reason();
    if (!result.status.ok()) break;
    result = co_await RunCompileJob(active->id(), *request, active->stages(),
                                    active->executor());
    const std::optional<ErrorDetail> error = GetErrorDetail(result.status);
    if (!error.has_value() || error->reason != kInputLost) break;
    log_.Warning("job ", active->id(), ": ", result.status.message());
    // What was uploaded cannot be computed again.
    Later<absl::Status> blobs([this, &request](const BlobsTold& told) {
      AskBlobs(*request, blobs_, told);
    });
    absl::Status missing = co_await blobs;
    if (!missing.ok()) {
      result.status = std::move(missing);
      break;
    }
  }
  co_return result;
}

void JobManager::Finish(const ActivePtr& active, JobResult result) {
  const v1::Job job = active->Finish(
      std::move(result), [this, id = active->id()](const absl::Status& stored) {
        // Dropped at our end: the next daemon runs it, and whoever cancels it
        // now must not be told that it is done.
        if (!stored.ok()) return;
        std::vector<std::function<void()>> awaited;
        {
          MutexLock lock(mutex_);
          active_.erase(id);
          const auto told = awaited_.extract(id);
          if (!told.empty()) awaited = std::move(told.mapped());
        }
        ended_.NotifyAll();
        for (const auto& over : awaited) over();
      });
  Count(job.state());
  log_.Info(DescribeEnd(job));
}

void JobManager::Count(v1::JobState state) {
  MutexLock lock(mutex_);
  ++over_[state];
}

JobManager::ActivePtr JobManager::Find(const std::string& id) {
  MutexLock lock(mutex_);
  const auto it = active_.find(id);
  return it == active_.end() ? nullptr : it->second;
}

std::vector<JobManager::ActivePtr> JobManager::AllActive() {
  MutexLock lock(mutex_);
  std::vector<ActivePtr> all;
  for (const auto& [id, job] : active_) all.push_back(job);
  return all;
}

JobQueue& JobManager::QueueOf(const v1::CreateJobRequest& request) {
  return Wants(request, v1::SWEEP) ? sweeps_ : queue_;
}

absl::StatusOr<v1::Job> JobManager::Get(const std::string& id) {
  const ActivePtr active = Find(id);
  EK_ASSIGN_OR_RETURN(v1::Job job, store_.Get(id));
  if (active == nullptr || job.state() > v1::RUNNING) return job;
  active->CopyStages(job);
  FitUnfinished(job);
  if (const absl::Status failure = journal_.Failure(); !failure.ok()) {
    job.mutable_waiting()->Clear();
    job.mutable_waiting()->set_cause(v1::JobEvent::Waiting::DISK_FULL);
    job.mutable_waiting()->set_reason(absl::StrCat(
        "the daemon cannot write what its jobs do: ", failure.message()));
  }
  return job;
}

void JobManager::End(const ActivePtr& active, const absl::Status& why,
                     const std::string& superseded_by) {
  if (!active->Stop(why, superseded_by)) return;
  bool queued = false;
  {
    MutexLock lock(mutex_);
    queued = QueueOf(active->request_head()).Remove(active->id());
  }
  if (!queued) return;
  JobResult result;
  result.status = why;
  Finish(active, std::move(result));
}

absl::StatusOr<v1::Job> JobManager::Cancel(const std::string& id,
                                           absl::Duration durable_within) {
  if (const ActivePtr active = Find(id)) {
    {
      // Nobody would carry it out.
      MutexLock lock(mutex_);
      if (stopping_) return ShuttingDown();
    }
    End(active, CancelledByClient());
    const auto end = std::chrono::steady_clock::now() +
                     absl::ToChronoMilliseconds(durable_within);
    MutexLock lock(mutex_);
    bool in_time = true;
    while (in_time && active_.count(id) > 0) {
      in_time = ended_.WaitUntil(lock, end);
    }
    if (active_.count(id) > 0) return NotDurable(id, durable_within);
  }
  return Get(id);
}

void JobManager::ForgetOldJobs() {
  const absl::Duration now = clock_.Monotonic();
  if (now < forget_at_) return;
  forget_at_ = now + kForgetInterval;
  const absl::StatusOr<int> forgotten =
      store_.Forget(options_.retention, clock_.Now());
  if (!forgotten.ok()) {
    log_.Error("forgetting old jobs: ", forgotten.status().message());
  } else if (*forgotten > 0) {
    log_.Info("forgot ", *forgotten, " old jobs");
    forget_at_ = now;  // There may be more.
  }
}

void JobManager::Tick() {
  struct Waiting {
    ActivePtr job;
    int max_running;
    JobQueue::Place place;
  };
  std::vector<Waiting> waiting;
  {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Monotonic();
    if (now - places_at_ >= kPlacesInterval) {
      places_at_ = now;
      for (const auto& [queue, running] :
           {std::pair{&queue_, options_.max_running},
            std::pair{&sweeps_, options_.max_sweeps}}) {
        for (JobQueue::Place& place : queue->Places(now)) {
          waiting.push_back({active_.at(place.id), running, std::move(place)});
        }
      }
    }
  }
  for (const auto& [job, max_running, place] : waiting) {
    job->TellPosition(place.position, max_running, place.eta);
  }
  for (const ActivePtr& job : AllActive()) {
    if (absl::Status why = job->Overdue(); !why.ok()) End(job, why);
    job->Wake();
  }
  ForgetOldJobs();
}

bool JobManager::Busy() {
  MutexLock lock(mutex_);
  return !active_.empty() || storing_ > 0;
}

void JobManager::Describe(v1::DaemonStatus::Jobs& jobs) {
  MutexLock lock(mutex_);
  jobs.set_running(static_cast<int>(queue_.running()));
  jobs.set_queued(static_cast<int>(queue_.size()));
  jobs.set_sweeps_running(static_cast<int>(sweeps_.running()));
  jobs.set_sweeps_queued(static_cast<int>(sweeps_.size()));
  jobs.set_max_running(options_.max_running);
  jobs.set_max_queued(options_.max_queued);
  jobs.set_succeeded(over_[v1::SUCCEEDED]);
  jobs.set_failed(over_[v1::FAILED]);
  jobs.set_cancelled(over_[v1::CANCELLED]);
}

}  // namespace edgekiln::server
