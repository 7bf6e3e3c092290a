// What a sweep that runs is given of the jobs around it.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/sweep_blobs.h"
#include "server/daemon/shutting_down.h"
#include "server/sweep/cells.h"
#include "server/sweep/sweep_job.h"

namespace edgekiln::server {
namespace {

constexpr int kEventsAtOnce = 1024;

bool IsDiskFull(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->reason == "DISK_FULL";
}

// Why a job of a cell ends with its sweep.
absl::Status SweepEnded() {
  return MakeError(absl::StatusCode::kCancelled,
                   {.fault = Fault::kUser,
                    .reason = "CANCELLED",
                    .what = "the sweep that this job is a cell of has ended",
                    .fix = "run the sweep again; what is finished is not "
                           "computed again"});
}

}  // namespace

class JobManager::RunningSweep final : public SweepContext {
 public:
  RunningSweep(JobManager& manager, ActivePtr active, std::string client)
      : manager_(manager),
        active_(std::move(active)),
        client_(std::move(client)),
        blobs_(manager.blobs_) {}

  absl::StatusOr<v1::Digest> Store(absl::string_view bytes) override {
    return blobs_.Store(bytes);
  }
  absl::StatusOr<std::string> Load(const v1::Digest& digest) override {
    return blobs_.Load(digest);
  }
  void AskHas(const v1::Digest& digest,
              const std::function<void(bool)>& told) override {
    blobs_.AskHas(digest, told);
  }

  JobContext& stages() override { return active_->stages(); }

  absl::Status Stopped() override {
    const absl::Status why = active_->stop_reason();
    if (!why.ok()) return why;
    MutexLock lock(manager_.mutex_);
    return manager_.stopping_ ? ShuttingDown() : absl::OkStatus();
  }

  bool Interrupted() override { return manager_.Interrupted(active_); }

  absl::StatusOr<std::vector<v1::JobEvent>> Told() override {
    std::vector<v1::JobEvent> told;
    // What an earlier life wrote is in the store since before this one.
    int64_t after = 0;
    while (true) {
      EK_ASSIGN_OR_RETURN(
          std::vector<v1::JobEvent> events,
          manager_.store_.Events(active_->id(), after, kEventsAtOnce));
      if (events.empty()) return told;
      after = events.back().sequence();
      for (v1::JobEvent& event : events) {
        if (event.has_planned() || event.has_row()) {
          told.push_back(std::move(event));
        }
      }
    }
  }

  void Tell(v1::JobEvent event) override { active_->Tell(std::move(event)); }

  void SetSummary(const v1::SweepSummary& summary) override {
    active_->SetSweep(summary);
  }

  void TellWaiting(const absl::Status& why) override {
    v1::JobEvent::Waiting waiting;
    waiting.set_cause(IsDiskFull(why) ? v1::JobEvent::Waiting::DISK_FULL
                                      : v1::JobEvent::Waiting::JOBS_AHEAD);
    waiting.set_reason(std::string(why.message()));
    active_->TellWaitingFor(waiting);
  }

  void CreateCell(const v1::CreateJobRequest& request,
                  Created created) override {
    manager_.CreateFor(request, client_, std::move(created));
  }

  void AwaitEnd(const std::string& job, std::function<void()> over) override {
    manager_.AwaitEnd(job, std::move(over));
  }

  void CancelCell(const std::string& job) override {
    if (const ActivePtr cell = manager_.Find(job)) {
      manager_.End(cell, SweepEnded());
    }
  }

  absl::StatusOr<v1::Job> GetJob(const std::string& job) override {
    // Nobody else asks for most of them: they are not serialized to be kept.
    const server::Answer bytes = manager_.store_.FinishedJobIfKept(job);
    if (bytes == nullptr) return manager_.store_.Get(job);
    v1::Job found;
    if (found.ParseFromString(*bytes)) return found;
    return absl::InternalError("the job does not parse");
  }

  absl::StatusOr<v1::Report> GetReport(const std::string& job) override {
    EK_ASSIGN_OR_RETURN(const server::Answer bytes,
                        manager_.store_.GetReport(job, /*target=*/0));
    v1::Report report;
    if (report.ParseFromString(*bytes)) return report;
    return absl::InternalError("the report does not parse");
  }

 private:
  JobManager& manager_;
  const ActivePtr active_;
  const std::string client_;
  StoredSweepBlobs blobs_;
};

// Cells of sweeps that are over: the last daemon died before it could cancel
// them.
void JobManager::EndLeftCells(const std::vector<v1::Job>& unfinished) {
  std::set<std::string> ids;
  for (const v1::Job& job : unfinished) ids.insert(job.id());
  for (const v1::Job& job : unfinished) {
    const std::optional<std::string> sweep =
        SweepOfCell(job.request().request_id());
    if (!sweep.has_value() || ids.count(*sweep) > 0) continue;
    if (const ActivePtr active = Find(job.id())) End(active, SweepEnded());
  }
}

void JobManager::AwaitEnd(const std::string& id, std::function<void()> over) {
  {
    MutexLock lock(mutex_);
    if (active_.count(id) > 0) {
      awaited_[id].push_back(std::move(over));
      return;
    }
  }
  over();
}

Task<JobResult> JobManager::RunSweep(ActivePtr active) {
  const absl::StatusOr<v1::CreateJobRequest> request =
      store_.GetRequest(active->id());
  if (!request.ok()) co_return JobResult(request.status());
  RunningSweep context(*this, active, active->client());
  SweepRun run = NewSweepRun(active->id(), *request, options_.sweep, context);
  active->set_wake([bell = std::move(run.bell)] { bell->Ring(); });
  JobResult result = co_await std::move(run.task);
  active->set_wake(nullptr);
  co_return result;
}

}  // namespace edgekiln::server
