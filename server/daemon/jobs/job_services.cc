#include "server/daemon/jobs/job_services.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "server/daemon/fairness/paced_calls.h"
#include "server/daemon/jobs/answer_cache.h"
#include "server/daemon/jobs/job_head.h"
#include "server/daemon/jobs/job_watchers.h"
#include "server/daemon/jobs/report_renderer.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/page_size.h"
#include "server/daemon/raw_call.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

// Requests larger than this are parsed each time.
constexpr size_t kMaxKnownBytes = 16 << 10;
// Of a processor, for all lists of jobs together. A page of 1000 takes some
// 10 ms.
constexpr double kListShare = 0.1;
constexpr int kMaxListsWaiting = 16;

absl::Status TooManyLists() {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kQuota,
       .reason = "TOO_MANY_LISTS",
       .what = "too many calls wait for lists of jobs",
       .limit = absl::StrCat(kMaxListsWaiting, " at once, ",
                             kMaxListsWaiting / 2, " of one connection"),
       .need = "one of them to end",
       .fix = "try again in some seconds, with smaller pages"});
}

// Methods that editors and CI call all the time answer from memory; those who
// watch take no threads.
using HotJobs = v1::Jobs::WithRawCallbackMethod_CreateJob<
    v1::Jobs::WithRawCallbackMethod_GetJob<
        v1::Jobs::WithRawCallbackMethod_WatchJob<
            v1::Jobs::WithCallbackMethod_PlanSweep<v1::Jobs::Service>>>>;
using HotReports =
    v1::Reports::WithRawCallbackMethod_GetReport<v1::Reports::Service>;

class JobsService final : public HotJobs {
 public:
  JobsService(JobManager& jobs, JobStore& store, JobWatchers& watchers,
              Quarantine& quarantine, const SweepPlanner& planner,
              Activity& activity)
      : jobs_(jobs),
        store_(store),
        quarantine_(quarantine),
        planner_(planner),
        activity_(activity),
        watchers_(watchers) {}

  grpc::ServerUnaryReactor* CreateJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    const auto call =
        std::make_shared<RawCall>(*context, activity_, *request, *response);
    grpc::ServerUnaryReactor* const reactor = call->reactor();
    Create(call, context->peer());
    return reactor;
  }

  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return AnswerOrFail(RawCall(*context, activity_, *request, *response),
                        [this](RawCall& call) -> absl::Status {
                          v1::GetJobRequest wanted;
                          EK_RETURN_IF_ERROR(call.Parse(wanted));
                          EK_RETURN_IF_ERROR(CheckBounds(wanted));
                          return AnswerWith(wanted.id(), call);
                        });
  }

  grpc::Status ListJobs(grpc::ServerContext* context,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    const Activity::Call call(activity_);
    absl::Status listed;
    const auto list = [&] { listed = List(*request, *response); };
    return ToGrpc(lists_.Run(context->peer(), list) ? listed : TooManyLists());
  }

  grpc::Status CancelJob(grpc::ServerContext*,
                         const v1::CancelJobRequest* request,
                         v1::Job* response) override {
    const Activity::Call call(activity_);
    if (absl::Status bad = CheckBounds(*request); !bad.ok()) return ToGrpc(bad);
    absl::StatusOr<v1::Job> job = jobs_.Cancel(request->id());
    if (job.ok()) *response = *std::move(job);
    return ToGrpc(job.status());
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJob(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override {
    return watchers_.Watch(*request, context->peer());
  }

  grpc::ServerUnaryReactor* PlanSweep(grpc::CallbackServerContext*,
                                      const v1::PlanSweepRequest* request,
                                      v1::SweepPlanned* response) override {
    return StartPlanSweep(*request, *response, planner_, activity_);
  }

  grpc::Status ListQuarantine(grpc::ServerContext*,
                              const v1::ListQuarantineRequest* request,
                              v1::ListQuarantineResponse* response) override {
    const Activity::Call call(activity_);
    if (absl::Status bad = CheckBounds(*request); !bad.ok()) return ToGrpc(bad);
    auto page = quarantine_.List(*request);
    if (page.ok()) *response = *std::move(page);
    return ToGrpc(page.status());
  }

  grpc::Status ReleaseQuarantine(grpc::ServerContext*,
                                 const v1::ReleaseQuarantineRequest* request,
                                 v1::QuarantinedStage* response) override {
    const Activity::Call call(activity_);
    if (absl::Status bad = CheckBounds(*request); !bad.ok()) return ToGrpc(bad);
    auto stage = quarantine_.Release(request->id());
    if (stage.ok()) *response = *std::move(stage);
    return ToGrpc(stage.status());
  }

 private:
  // Answers with the job as it is. Errors: NOT_FOUND.
  absl::Status AnswerWith(const std::string& id, RawCall& call) {
    EK_ASSIGN_OR_RETURN(const Answer finished, store_.FinishedJob(id));
    if (finished != nullptr) {
      call.Answer(*finished);
      return absl::OkStatus();
    }
    EK_ASSIGN_OR_RETURN(const v1::Job job, jobs_.Get(id));
    call.Answer(job);
    return absl::OkStatus();
  }

  void Create(const std::shared_ptr<RawCall>& call, const std::string& peer) {
    const absl::Status bounded =
        CheckRequestBytes(static_cast<int64_t>(call->bytes().size()));
    if (!bounded.ok()) return call->Fail(bounded);
    // The very same bytes are the same request.
    std::string bytes(call->bytes());
    if (const Answer id = known_.Find(bytes)) {
      // Unless the job was forgotten meanwhile.
      if (AnswerWith(*id, *call).ok()) return;
      known_.Forget(bytes);
    }
    v1::CreateJobRequest request;
    if (absl::Status bad = call->Parse(request); !bad.ok()) {
      return call->Fail(bad);
    }
    const bool keep =
        !request.request_id().empty() && bytes.size() <= kMaxKnownBytes;
    if (!keep) bytes.clear();
    jobs_.Create(
        request,
        [this, call,
         bytes = std::move(bytes)](const absl::StatusOr<v1::Job>& job) {
          if (!job.ok()) return call->Fail(job.status());
          if (!bytes.empty()) known_.Keep(bytes, job->id());
          call->Answer(*job);
        },
        peer);
  }

  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse& response) {
    EK_RETURN_IF_ERROR(CheckBounds(request));
    int64_t before = 0;
    const bool good_token =
        request.page_token().empty() ||
        (absl::SimpleAtoi(request.page_token(), &before) && before > 0);
    EK_ASSIGN_OR_RETURN(
        const int size,
        PageSize(request.page_size(), good_token, "ListJobsRequest", "jobs"));
    EK_ASSIGN_OR_RETURN(JobPage page,
                        store_.List(size, before, request.sweep()));
    for (v1::Job& job : page.jobs) {
      ShowInList(job);
      *response.add_jobs() = std::move(job);
    }
    if (page.next > 0) response.set_next_page_token(absl::StrCat(page.next));
    return absl::OkStatus();
  }

  JobManager& jobs_;
  JobStore& store_;
  Quarantine& quarantine_;
  const SweepPlanner planner_;
  Activity& activity_;
  JobWatchers& watchers_;
  AnswerCache known_{int64_t{4} << 20};  // Ids by serialized requests.
  PacedCalls lists_{kListShare, kMaxListsWaiting};
};

class ReportsService final : public HotReports {
 public:
  ReportsService(JobStore& store, cache::BlobStore& blobs, Activity& activity)
      : store_(store),
        activity_(activity),
        renderer_([&store](const std::string& id,
                           int target) { return store.GetReport(id, target); },
                  blobs) {}

  grpc::ServerUnaryReactor* GetReport(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return AnswerOrFail(RawCall(*context, activity_, *request, *response),
                        [this](RawCall& call) { return AnswerWith(call); });
  }

  grpc::Status RenderReport(grpc::ServerContext*,
                            const v1::RenderReportRequest* request,
                            v1::RenderedReport* response) override {
    const Activity::Call call(activity_);
    auto rendered = renderer_.Render(*request);
    if (rendered.ok()) *response = *std::move(rendered);
    return ToGrpc(rendered.status());
  }

 private:
  absl::Status AnswerWith(RawCall& call) {
    v1::GetReportRequest wanted;
    EK_RETURN_IF_ERROR(call.Parse(wanted));
    EK_RETURN_IF_ERROR(CheckBounds(wanted));
    EK_ASSIGN_OR_RETURN(const Answer report,
                        store_.GetReport(wanted.job_id(), wanted.target()));
    call.Answer(*report);
    return absl::OkStatus();
  }

  JobStore& store_;
  Activity& activity_;
  ReportRenderer renderer_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewJobsService(JobManager& jobs, JobStore& store,
                                              JobWatchers& watchers,
                                              Quarantine& quarantine,
                                              const SweepPlanner& planner,
                                              Activity& activity) {
  return std::make_unique<JobsService>(jobs, store, watchers, quarantine,
                                       planner, activity);
}

std::unique_ptr<grpc::Service> NewReportsService(JobStore& store,
                                                 cache::BlobStore& blobs,
                                                 Activity& activity) {
  return std::make_unique<ReportsService>(store, blobs, activity);
}

}  // namespace edgekiln::server
