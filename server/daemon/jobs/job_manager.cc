#include "server/daemon/jobs/job_manager.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/util/time_util.h"
#include "server/daemon/jobs/admission.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

// A vanished intermediate result is computed again so often.
constexpr int kMaxRuns = 3;
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

absl::Status QueueFull(int max_queued) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.fault = Fault::kQuota,
                    .reason = "QUEUE_FULL",
                    .what = "too many jobs wait already",
                    .limit = absl::StrCat(max_queued, " jobs"),
                    .fix = "try again later"});
}

v1::JobEvent StateEvent(v1::JobState state) {
  v1::JobEvent event;
  event.set_state(state);
  return event;
}

}  // namespace

// A request on its way to be a job, and all who sent it meanwhile.
struct JobManager::Creation {
  v1::CreateJobRequest request;
  std::vector<Created> waiting;  // Guarded by the manager's mutex.
};

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
      ids_(options.seed) {}

JobManager::~JobManager() { Stop(); }

void JobManager::Stop() {
  std::vector<ActivePtr> active;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& [id, job] : active_) active.push_back(job);
  }
  for (const ActivePtr& job : active) job->stages().Cancel(ShuttingDown());
  {
    MutexLock lock(mutex_);
    while (running_ > 0) idle_.Wait(lock);
  }
  journal_.Stop();
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
    // The last daemon may have died before it could.
    Supersede(job);
  }
  {
    MutexLock lock(mutex_);
    started_ = true;
  }
  for (int i = 0; i < options_.max_running; ++i) RunNext();
  return absl::OkStatus();
}

void JobManager::Create(const v1::CreateJobRequest& request, Created created) {
  if (absl::Status bad = CheckRequest(request, options_.max_targets);
      !bad.ok()) {
    return created(bad);
  }
  auto creation = std::make_shared<Creation>();
  creation->request = request;
  creation->waiting.push_back(std::move(created));
  if (!request.request_id().empty()) {
    MutexLock lock(mutex_);
    const auto [it, first] = creations_.emplace(request.request_id(), creation);
    if (!first) {
      // Somebody sends the same at this moment.
      Created& mine = creation->waiting.front();
      v1::Job other;
      *other.mutable_request() = it->second->request;
      absl::Status same = CheckSameRequest(other, request);
      if (same.ok()) {
        it->second->waiting.push_back(std::move(mine));
        return;
      }
      lock.Unlock();
      return mine(same);
    }
    lock.Unlock();
    const absl::StatusOr<bool> answered = AnswerRepeated(creation);
    if (!answered.ok()) return Answer(creation, answered.status());
    if (*answered) return;
  }
  absl::Status status = CheckBlobs(request, blobs_);
  if (status.ok()) status = Reserve(creation->request);
  if (!status.ok()) return Answer(creation, status);
  Store(creation);
}

// True if there is such a job already.
absl::StatusOr<bool> JobManager::AnswerRepeated(const CreationPtr& creation) {
  const v1::CreateJobRequest& request = creation->request;
  EK_ASSIGN_OR_RETURN(const std::optional<v1::Job> stored,
                      store_.FindByRequest(request.request_id()));
  if (!stored.has_value()) return false;
  EK_RETURN_IF_ERROR(CheckSameRequest(*stored, request));
  Answer(creation, Get(stored->id()));
  return true;
}

absl::Status JobManager::Reserve(const v1::CreateJobRequest& request) {
  EK_RETURN_IF_ERROR(
      space_.Admit(static_cast<int64_t>(request.ByteSizeLong()), "a job"));
  MutexLock lock(mutex_);
  if (stopping_) return ShuttingDown();
  if (static_cast<int>(queue_.size()) + storing_ >= options_.max_queued) {
    return QueueFull(options_.max_queued);
  }
  ++storing_;
  return absl::OkStatus();
}

void JobManager::Store(const CreationPtr& creation) {
  v1::Job job;
  {
    MutexLock lock(mutex_);
    job.set_id(absl::StrFormat("j%016x", ids_.Next()));
  }
  job.set_state(v1::QUEUED);
  *job.mutable_request() = creation->request;
  *job.mutable_created() =
      google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
          absl::ToUnixMicros(clock_.Now()));
  journal_.Create(job, StateEvent(v1::QUEUED),
                  [this, creation, job](const absl::Status& stored) {
                    OnStored(creation, job, stored);
                  });
}

void JobManager::OnStored(const CreationPtr& creation, const v1::Job& job,
                          const absl::Status& stored) {
  if (stored.ok()) {
    Enqueue(job);
    Supersede(job);
  }
  {
    MutexLock lock(mutex_);
    --storing_;
  }
  if (!stored.ok()) return Answer(creation, stored);
  v1::Job answer = job;
  answer.set_last_sequence(1);
  Answer(creation, answer);
}

void JobManager::Answer(const CreationPtr& creation,
                        const absl::StatusOr<v1::Job>& job) {
  std::vector<Created> waiting;
  {
    MutexLock lock(mutex_);
    waiting.swap(creation->waiting);
    const auto it = creations_.find(creation->request.request_id());
    if (it != creations_.end() && it->second == creation) creations_.erase(it);
  }
  for (const Created& created : waiting) created(job);
}

// Cancels what is before `newer` in its slot: all that is there, as jobs come
// here in the order in which they were stored.
void JobManager::Supersede(const v1::Job& newer) {
  if (!newer.request().has_slot()) return;
  std::vector<ActivePtr> older;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, job] : active_) {
      if (id != newer.id() && SameSlot(job->request(), newer.request())) {
        older.push_back(job);
      }
    }
  }
  for (const ActivePtr& job : older) End(job, Superseded(newer), newer.id());
}

void JobManager::Enqueue(const v1::Job& job) {
  const ActivePtr active = ActiveJob::New(job, stages_, journal_, clock_);
  {
    MutexLock lock(mutex_);
    active_[job.id()] = active;
    queue_.push_back(active);
  }
  RunNext();
}

JobManager::ActivePtr JobManager::TakeNext() {
  if (!started_ || stopping_ || queue_.empty()) return nullptr;
  const ActivePtr next = queue_.front();
  queue_.pop_front();
  return next;
}

// Begins one more job, unless there is none or enough run.
void JobManager::RunNext() {
  ActivePtr next;
  {
    MutexLock lock(mutex_);
    if (running_ < options_.max_running) next = TakeNext();
    if (next == nullptr) return;
    ++running_;
  }
  Run(next);
}

void JobManager::Run(const ActivePtr& active) {
  StartTask(executor_, RunStages(active), [this, active](JobResult result) {
    OnRun(active, std::move(result));
  });
}

// Nothing of the job runs any more. The next one takes its place.
void JobManager::OnRun(const ActivePtr& active, JobResult result) {
  if (result.status.ok() || !Interrupted(active)) {
    Finish(active, std::move(result));
  }
  ActivePtr next;
  {
    MutexLock lock(mutex_);
    next = TakeNext();
    if (next == nullptr) {
      --running_;
      // Stop() may end this object once the lock is free.
      idle_.NotifyAll();
      return;
    }
  }
  Run(next);
}

// Whether the job is not over, only interrupted: the next daemon goes on. What
// was asked to end has ended.
bool JobManager::Interrupted(const ActivePtr& active) {
  if (!active->stop_reason().ok()) return false;
  MutexLock lock(mutex_);
  return stopping_;
}

Task<JobResult> JobManager::RunStages(ActivePtr active) {
  JobResult result(active->stop_reason());
  for (int run = 1; run <= kMaxRuns && active->stop_reason().ok(); ++run) {
    result = co_await RunCompileJob(active->id(), active->request(),
                                    active->stages(), executor_);
    const std::optional<ErrorDetail> error = GetErrorDetail(result.status);
    if (!error.has_value() || error->reason != kInputLost) co_return result;
    log_.Warning("job ", active->id(), ": ", result.status.message());
    // What was uploaded cannot be computed again.
    if (absl::Status missing = CheckBlobs(active->request(), blobs_);
        !missing.ok()) {
      result.status = std::move(missing);
      co_return result;
    }
  }
  co_return result;
}

void JobManager::Finish(const ActivePtr& active, JobResult result) {
  const v1::Job job = active->Finish(
      std::move(result), [this, id = active->id()](const absl::Status&) {
        MutexLock lock(mutex_);
        active_.erase(id);
      });
  log_.Info("job ", job.id(), " ", v1::JobState_Name(job.state()),
            job.has_error() ? ": " : "", job.error().message());
}

JobManager::ActivePtr JobManager::Find(const std::string& id) {
  MutexLock lock(mutex_);
  const auto it = active_.find(id);
  return it == active_.end() ? nullptr : it->second;
}

absl::StatusOr<v1::Job> JobManager::Get(const std::string& id) {
  const ActivePtr active = Find(id);
  EK_ASSIGN_OR_RETURN(v1::Job job, store_.Get(id));
  if (active != nullptr && job.state() <= v1::RUNNING) active->CopyStages(job);
  return job;
}

void JobManager::End(const ActivePtr& active, const absl::Status& why,
                     const std::string& superseded_by) {
  if (!active->Stop(why, superseded_by)) return;
  bool queued = false;
  {
    MutexLock lock(mutex_);
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
      MutexLock lock(mutex_);
      if (stopping_) return ShuttingDown();
    }
    End(active, CancelledByClient());
    journal_.Flush();
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
  std::vector<ActivePtr> active;
  std::vector<ActivePtr> queued;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, job] : active_) active.push_back(job);
    queued.assign(queue_.begin(), queue_.end());
  }
  for (size_t i = 0; i < queued.size(); ++i) {
    queued[i]->TellPosition(static_cast<int64_t>(i) + 1, options_.max_running);
  }
  for (const ActivePtr& job : active) {
    if (absl::Status why = job->Overdue(); !why.ok()) End(job, why);
  }
  ForgetOldJobs();
}

bool JobManager::Busy() {
  MutexLock lock(mutex_);
  return !active_.empty() || storing_ > 0;
}

}  // namespace edgekiln::server
