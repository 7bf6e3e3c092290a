#include "server/daemon/job_services.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "server/daemon/rpc_status.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

constexpr int kDefaultPage = 50;
constexpr int kMaxPage = 1000;
constexpr int kEventsAtOnce = 256;
// How soon a watcher that has gone away is noticed.
constexpr absl::Duration kWatchPoll = absl::Milliseconds(200);

class JobsService final : public v1::Jobs::Service {
 public:
  JobsService(JobManager& jobs, JobStore& store, JobJournal& journal,
              const std::atomic<bool>& stopping, Activity& activity)
      : jobs_(jobs),
        store_(store),
        journal_(journal),
        stopping_(stopping),
        activity_(activity) {}

  grpc::Status CreateJob(grpc::ServerContext*,
                         const v1::CreateJobRequest* request,
                         v1::Job* response) override {
    const Activity::Call call(activity_);
    return Answer(jobs_.Create(*request), response);
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::Job* response) override {
    const Activity::Call call(activity_);
    return Answer(jobs_.Get(request->id()), response);
  }

  grpc::Status ListJobs(grpc::ServerContext*,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    const Activity::Call call(activity_);
    return ToGrpc(List(*request, *response));
  }

  grpc::Status CancelJob(grpc::ServerContext*,
                         const v1::CancelJobRequest* request,
                         v1::Job* response) override {
    const Activity::Call call(activity_);
    return Answer(jobs_.Cancel(request->id()), response);
  }

  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::JobEvent>* writer) override {
    const Activity::Call call(activity_);
    return ToGrpc(Watch(*context, *request, *writer));
  }

 private:
  static grpc::Status Answer(absl::StatusOr<v1::Job> job, v1::Job* response) {
    if (!job.ok()) return ToGrpc(job.status());
    *response = *std::move(job);
    return grpc::Status::OK;
  }

  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse& response) {
    int64_t before = 0;
    const bool good_token =
        request.page_token().empty() ||
        (absl::SimpleAtoi(request.page_token(), &before) && before > 0);
    if (!good_token || request.page_size() < 0 ||
        request.page_size() > kMaxPage) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.fault = Fault::kUser,
                        .reason = "BAD_PAGE",
                        .what = "bad page token or size",
                        .where = "ListJobsRequest",
                        .limit = absl::StrCat("0 to ", kMaxPage, " jobs"),
                        .fix = "hand back next_page_token as it came"});
    }
    const int size =
        request.page_size() == 0 ? kDefaultPage : request.page_size();
    EK_ASSIGN_OR_RETURN(JobPage page, store_.List(size, before));
    for (v1::Job& job : page.jobs) {
      // A page of jobs with thousands of stages each would not fit a message.
      job.clear_stages();
      job.clear_description();
      *response.add_jobs() = std::move(job);
    }
    if (page.next > 0) response.set_next_page_token(absl::StrCat(page.next));
    return absl::OkStatus();
  }

  // What is stored is all there is: a watch is a query that waits.
  absl::Status Watch(grpc::ServerContext& context,
                     const v1::WatchJobRequest& request,
                     grpc::ServerWriter<v1::JobEvent>& writer) {
    EK_RETURN_IF_ERROR(store_.Get(request.id()).status());
    int64_t after = request.after_sequence();
    uint64_t version = 0;
    while (!context.IsCancelled()) {
      // Before the look: a change after it ends the next wait at once.
      version = journal_.WaitForChange(version, absl::ZeroDuration());
      EK_ASSIGN_OR_RETURN(const std::vector<v1::JobEvent> events,
                          store_.Events(request.id(), after, kEventsAtOnce));
      for (const v1::JobEvent& event : events) {
        if (!writer.Write(event)) return absl::CancelledError("watcher left");
        after = event.sequence();
        if (event.event_case() == v1::JobEvent::kState &&
            event.state() >= v1::SUCCEEDED) {
          return absl::OkStatus();
        }
      }
      if (!events.empty()) continue;
      EK_ASSIGN_OR_RETURN(const v1::Job job, store_.Get(request.id()));
      if (job.state() >= v1::SUCCEEDED && after >= job.last_sequence()) {
        return absl::OkStatus();
      }
      if (stopping_) return ShuttingDown();
      journal_.WaitForChange(version, kWatchPoll);
    }
    return absl::CancelledError("watcher left");
  }

  JobManager& jobs_;
  JobStore& store_;
  JobJournal& journal_;
  const std::atomic<bool>& stopping_;
  Activity& activity_;
};

class ReportsService final : public v1::Reports::Service {
 public:
  ReportsService(JobStore& store, Activity& activity)
      : store_(store), activity_(activity) {}

  grpc::Status GetReport(grpc::ServerContext*,
                         const v1::GetReportRequest* request,
                         v1::Report* response) override {
    const Activity::Call call(activity_);
    absl::StatusOr<v1::Report> report = Find(*request);
    if (!report.ok()) return ToGrpc(report.status());
    *response = *std::move(report);
    return grpc::Status::OK;
  }

 private:
  absl::StatusOr<v1::Report> Find(const v1::GetReportRequest& request) {
    EK_RETURN_IF_ERROR(store_.Get(request.job_id()).status());
    return store_.GetReport(request.job_id(), request.target());
  }

  JobStore& store_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewJobsService(JobManager& jobs, JobStore& store,
                                              JobJournal& journal,
                                              const std::atomic<bool>& stopping,
                                              Activity& activity) {
  return std::make_unique<JobsService>(jobs, store, journal, stopping,
                                       activity);
}

std::unique_ptr<grpc::Service> NewReportsService(JobStore& store,
                                                 Activity& activity) {
  return std::make_unique<ReportsService>(store, activity);
}

}  // namespace edgekiln::server
