// Jobs over the wire: their course, their errors, their deadlines and slots.

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/daemon/testing/daemon_fixture.h"

namespace edgekiln::server {
namespace {

using testing::HasSubstr;

TEST_F(DaemonTest, RunsAJobAndTellsItsStory) {
  const auto worker = Worker();
  const v1::Job job = Create(Profile());
  const std::vector<v1::JobEvent> events = Watch(job.id());
  ASSERT_GE(events.size(), 3u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(events.front().state(), v1::QUEUED);
  EXPECT_EQ(events.back().state(), v1::SUCCEEDED);
  const v1::Job done = Get(job.id());
  EXPECT_EQ(done.state(), v1::SUCCEEDED);
  EXPECT_EQ(done.last_sequence(), static_cast<int64_t>(events.size()));
  EXPECT_EQ(done.stages_size(), 12);
  ASSERT_EQ(done.reports(), 1);
  v1::GetReportRequest request;
  request.set_job_id(job.id());
  v1::Report report;
  grpc::ClientContext context;
  ASSERT_TRUE(reports_->GetReport(&context, request, &report).ok());
  EXPECT_EQ(report.totals().cycles(), 200);
  EXPECT_EQ(report.job_id(), job.id());

  // A watch resumes where it was cut, and past the end says nothing.
  const std::vector<v1::JobEvent> rest = Watch(job.id(), 3);
  ASSERT_EQ(rest.size(), events.size() - 3);
  EXPECT_EQ(rest.front().sequence(), 4);
  EXPECT_TRUE(Watch(job.id(), done.last_sequence()).empty());
}

TEST_F(DaemonTest, SecondIdenticalJobLeasesNothing) {
  const auto worker = Worker();
  Watch(Create(Profile()).id());
  const size_t executed = worker->Executed().size();
  const v1::Job second = Create(Profile());
  Watch(second.id());
  EXPECT_EQ(worker->Executed().size(), executed);
  const v1::Job done = Get(second.id());
  for (const v1::Report::Stage& stage : done.stages()) {
    EXPECT_EQ(stage.cache(), v1::Report::Stage::HIT) << stage.name();
  }
}

TEST_F(DaemonTest, CreateIsIdempotentByRequestId) {
  v1::CreateJobRequest request = Profile();
  request.set_request_id("once");
  const v1::Job first = Create(request);
  EXPECT_EQ(Create(request).id(), first.id());
  // Also of those that are sent at the same moment, and after a restart.
  request.set_request_id("at once");
  std::vector<std::string> ids(8);
  std::vector<std::thread> clients;
  for (std::string& id : ids) {
    clients.emplace_back([&] { id = Create(request).id(); });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(ids, testing::Each(ids[0]));
  Stop();
  Start();
  EXPECT_EQ(Create(request).id(), ids[0]);
  request.set_model_name("another");
  v1::Job job;
  grpc::ClientContext context;
  const grpc::Status status = jobs_->CreateJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, RefusesAJobWithoutItsBlobsInDetail) {
  v1::CreateJobRequest request = Profile();
  request.mutable_model()->set_hash(std::string(64, '0'));
  v1::Job job;
  grpc::ClientContext context;
  const grpc::Status status = jobs_->CreateJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  google::rpc::Status rich;
  ASSERT_TRUE(rich.ParseFromString(status.error_details()));
  ASSERT_EQ(rich.details_size(), 2);
  v1::ErrorDetail detail;
  ASSERT_TRUE(rich.details(0).UnpackTo(&detail));
  EXPECT_EQ(detail.reason(), "BLOB_MISSING");
  EXPECT_EQ(detail.fault(), v1::ErrorDetail::USER);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(rich.details(1).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "BLOB_MISSING");
}

TEST_F(DaemonTest, AUserErrorFailsTheJobNotTheCall) {
  const auto worker = Worker();
  const v1::Job job = Create(Profile("bad net"));
  const std::vector<v1::JobEvent> events = Watch(job.id());
  EXPECT_EQ(events.back().state(), v1::FAILED);
  const v1::Job failed = Get(job.id());
  EXPECT_EQ(failed.error().fault(), v1::ErrorDetail::USER);
  EXPECT_EQ(failed.error().message(), "import: bad model");
}

TEST_F(DaemonTest, ACrashingStageFailsTheJobOnly) {
  const auto worker = Worker({.crash_on = "tile"});
  const v1::Job failed = Get([&] {
    const v1::Job job = Create(Profile());
    Watch(job.id());
    return job.id();
  }());
  EXPECT_EQ(failed.state(), v1::FAILED);
  EXPECT_EQ(failed.error().fault(), v1::ErrorDetail::INFRA);
  EXPECT_THAT(failed.error().message(), HasSubstr("stage tile"));
  const v1::Job other = Create(Profile("bad net"));
  Watch(other.id());
  EXPECT_EQ(Get(other.id()).error().fault(), v1::ErrorDetail::USER);
}

TEST_F(DaemonTest, SaysWhyNothingMovesAndGoesOnOnceThereIsAWorker) {
  const v1::Job job = Create(Profile());
  WatchUntil(job.id(), v1::JobEvent::kWaiting);
  const auto worker = Worker();
  EXPECT_EQ(Watch(job.id()).back().state(), v1::SUCCEEDED);
}

TEST_F(DaemonTest, CancelTakesTheLeaseBack) {
  const auto worker = Worker({.hang_on = "tile"});
  const v1::Job job = Create(Profile());
  WatchUntil(job.id(), v1::JobEvent::kStageFinished);
  v1::CancelJobRequest request;
  request.set_id(job.id());
  v1::Job cancelled;
  grpc::ClientContext context;
  ASSERT_TRUE(jobs_->CancelJob(&context, request, &cancelled).ok());
  EXPECT_EQ(Watch(job.id()).back().state(), v1::CANCELLED);
  grpc::ClientContext again;
  ASSERT_TRUE(jobs_->CancelJob(&again, request, &cancelled).ok());
  EXPECT_EQ(cancelled.state(), v1::CANCELLED);
}

TEST_F(DaemonTest, RunDeadlineEndsAJob) {
  const auto worker = Worker({.hang_on = "tile"});
  v1::CreateJobRequest request = Profile();
  request.mutable_options()->mutable_run_deadline()->set_nanos(1'000'000);
  const v1::Job job = Create(request);
  EXPECT_EQ(Watch(job.id()).back().state(), v1::FAILED);
  EXPECT_EQ(Get(job.id()).error().reason(), "RUN_DEADLINE");
}

TEST_F(DaemonTest, QueueDeadlineEndsAJobThatNoWorkerTakesAndSaysWhy) {
  v1::CreateJobRequest request = Profile();
  request.mutable_options()->mutable_queue_deadline()->set_seconds(2);
  const v1::Job job = Create(request);
  EXPECT_EQ(Watch(job.id()).back().state(), v1::FAILED);
  const v1::Job failed = Get(job.id());
  EXPECT_EQ(failed.error().reason(), "QUEUE_DEADLINE");
  EXPECT_THAT(failed.error().where(), HasSubstr("no worker with role COMPILE"));
  EXPECT_EQ(failed.error().limit(),
            "2s of waiting (queue_deadline, --queue-timeout)");
}

TEST_F(DaemonTest, ANewerJobOfTheSameSlotTakesThePlaceOfTheOlder) {
  const auto worker = Worker({.slots = 1, .hang_on = "tile"});
  v1::CreateJobRequest request = Profile();
  request.mutable_slot()->set_client("me");
  request.mutable_slot()->set_name("pane");
  const v1::Job running = Create(request);
  WatchUntil(running.id(), v1::JobEvent::kStageFinished);
  // Others' slots, and jobs without one, are nobody's business.
  v1::CreateJobRequest other = Profile("int8 other");
  *other.mutable_slot() = request.slot();
  other.mutable_slot()->set_client("you");
  const v1::Job yours = Create(other);
  const v1::Job free = Create(Profile("int8 free"));
  *request.mutable_model() = Upload("int8 retyped");
  const v1::Job newer = Create(request);
  EXPECT_EQ(Watch(running.id()).back().state(), v1::CANCELLED);
  const v1::Job older = Get(running.id());
  EXPECT_EQ(older.superseded_by(), newer.id());
  EXPECT_EQ(older.error().reason(), "SUPERSEDED");
  EXPECT_THAT(older.error().where(), HasSubstr(newer.id()));
  EXPECT_LT(Get(yours.id()).state(), v1::SUCCEEDED);
  EXPECT_LT(Get(free.id()).state(), v1::SUCCEEDED);
  EXPECT_LT(Get(newer.id()).state(), v1::SUCCEEDED);
  EXPECT_EQ(Get(newer.id()).superseded_by(), "");
  request.mutable_slot()->clear_name();
  v1::Job refused;
  grpc::ClientContext context;
  EXPECT_EQ(jobs_->CreateJob(&context, request, &refused).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// What the older computes for another job, too, is not taken back.
TEST_F(DaemonTest, SupersedingLeavesSharedWorkAlone) {
  const auto worker = Worker({.hang_on = "tile"});
  v1::CreateJobRequest request = Profile();
  const v1::Job other = Create(request);
  request.mutable_slot()->set_name("pane");
  const v1::Job older = Create(request);
  WatchUntil(other.id(), v1::JobEvent::kStageFinished);
  WatchUntil(older.id(), v1::JobEvent::kStageFinished);
  *request.mutable_model() = Upload("int8 retyped");
  Create(request);
  EXPECT_EQ(Watch(older.id()).back().state(), v1::CANCELLED);
  EXPECT_EQ(worker->Cancelled(), 0);
  EXPECT_EQ(Get(other.id()).state(), v1::RUNNING);
}

TEST_F(DaemonTest, ListsJobsInPages) {
  for (int i = 0; i < 3; ++i) Create(Profile());
  v1::ListJobsRequest request;
  request.set_page_size(2);
  v1::ListJobsResponse page;
  grpc::ClientContext first;
  ASSERT_TRUE(jobs_->ListJobs(&first, request, &page).ok());
  EXPECT_EQ(page.jobs_size(), 2);
  request.set_page_token(page.next_page_token());
  grpc::ClientContext second;
  ASSERT_TRUE(jobs_->ListJobs(&second, request, &page).ok());
  EXPECT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.next_page_token(), "");
  request.set_page_token("nonsense");
  grpc::ClientContext bad;
  EXPECT_EQ(jobs_->ListJobs(&bad, request, &page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace edgekiln::server
