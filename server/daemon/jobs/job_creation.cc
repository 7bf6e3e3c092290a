// From a request to a stored job: refused, told of an earlier one, stored as it
// ended, or queued.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/util/time_util.h"
#include "server/daemon/jobs/admission.h"
#include "server/daemon/jobs/job_end.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/recalled_job.h"
#include "server/daemon/jobs/state_event.h"
#include "server/daemon/retry_info.h"
#include "server/daemon/shutting_down.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

// `wait`: until one of them runs, if that is known.
absl::Status QueueFull(int max_queued, std::optional<absl::Duration> wait) {
  absl::Status full = MakeError(absl::StatusCode::kResourceExhausted,
                                {.fault = Fault::kQuota,
                                 .reason = "QUEUE_FULL",
                                 .what = "too many jobs wait already",
                                 .limit = absl::StrCat(max_queued, " jobs"),
                                 .need = "room for one more",
                                 .fix = "try again later"});
  return wait.has_value() ? WithRetryDelay(full, *wait) : full;
}

}  // namespace

// A request on its way to be a job, and all who sent it meanwhile.
struct JobManager::Creation {
  v1::CreateJobRequest request;
  std::string client;
  v1::Job job;  // Of whoever has the creation: Store(), then the journal.
  std::vector<Created> waiting;  // Guarded by the manager's mutex.
};

void JobManager::Create(const v1::CreateJobRequest& request, Created created,
                        const std::string& peer) {
  if (absl::Status bad = CheckRequest(request, options_.max_targets);
      !bad.ok()) {
    return created(bad);
  }
  CreateFor(request, ClientOf(request, peer), std::move(created));
}

void JobManager::CreateFor(const v1::CreateJobRequest& request,
                           const std::string& client, Created created) {
  auto creation = std::make_shared<Creation>();
  creation->request = request;
  creation->client = client;
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
  AskBlobs(request, blobs_, [this, creation](absl::Status status) {
    if (status.ok()) status = Reserve(*creation);
    if (!status.ok()) return Answer(creation, status);
    Store(creation);
  });
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

absl::Status JobManager::Reserve(const Creation& creation) {
  EK_RETURN_IF_ERROR(space_.Admit(
      static_cast<int64_t>(creation.request.ByteSizeLong()), "a job"));
  MutexLock lock(mutex_);
  if (stopping_ || draining_) return ShuttingDown();
  int& storing_of_client = storing_of_[creation.client];
  JobQueue& queue = QueueOf(creation.request);
  if (!queue.HasRoom(creation.client, options_.max_queued, storing_,
                     storing_of_client)) {
    if (storing_of_client == 0) storing_of_.erase(creation.client);
    return QueueFull(options_.max_queued, queue.UntilNext(clock_.Monotonic()));
  }
  ++storing_;
  ++storing_of_client;
  return absl::OkStatus();
}

// By time: rows of new jobs lie beside each other in the database, which writes
// fewer pages for them.
std::string JobManager::NextId() {
  const auto now = static_cast<uint64_t>(absl::ToUnixMicros(clock_.Now()));
  last_id_ = std::max(last_id_ + 1, now << 12 | ids_.Next() % (1 << 12));
  return absl::StrFormat("j%016x", last_id_);
}

void JobManager::Store(const CreationPtr& creation) {
  v1::Job& job = creation->job;
  {
    MutexLock lock(mutex_);
    job.set_id(NextId());
  }
  job.set_state(v1::QUEUED);
  *job.mutable_request() = creation->request;
  *job.mutable_created() =
      google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
          absl::ToUnixMicros(clock_.Now()));
  if (StoreRecalled(creation)) return;
  journal_.Create(job, StateEvent(v1::QUEUED),
                  [this, creation](const absl::Status& stored) {
                    if (stored.ok()) Enqueue(creation->job, creation->client);
                    OnStored(creation, stored);
                  });
}

// False: it must be run. Whoever asked is told that it is queued in any case,
// as of one that ends in the next moment.
bool JobManager::StoreRecalled(const CreationPtr& creation) {
  if (Wants(creation->request, v1::SWEEP)) return false;
  {
    MutexLock lock(mutex_);
    if (!started_ || stopping_) return false;
  }
  std::optional<RecalledJob> recalled =
      RecallJob(creation->job, stages_, clock_);
  if (!recalled.has_value()) return false;
  std::string end = DescribeEnd(recalled->job);
  const v1::JobState state = recalled->job.state();
  journal_.CreateEnded(std::move(recalled->job), std::move(recalled->events),
                       std::move(recalled->reports),
                       [this, creation, state,
                        end = std::move(end)](const absl::Status& stored) {
                         if (stored.ok()) {
                           Count(state);
                           log_.Info(end);
                         }
                         OnStored(creation, stored);
                       });
  return true;
}

void JobManager::OnStored(const CreationPtr& creation,
                          const absl::Status& stored) {
  if (stored.ok()) Supersede(creation->job);
  {
    MutexLock lock(mutex_);
    --storing_;
    const auto it = storing_of_.find(creation->client);
    if (--it->second == 0) storing_of_.erase(it);
  }
  if (!stored.ok()) return Answer(creation, stored);
  creation->job.set_last_sequence(1);
  Answer(creation, creation->job);
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

}  // namespace edgekiln::server
