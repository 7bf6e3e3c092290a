#include "server/daemon/daemon.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "gmock/gmock.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "server/daemon/fake_worker.h"
#include "server/proto_convert.h"

namespace edgekiln::server {
namespace {

namespace bs = google::bytestream;
namespace reapi = build::bazel::remote::execution::v2;
using testing::HasSubstr;

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    options_.listen = "127.0.0.1:0";
    options_.workers_listen = "127.0.0.1:0";
    options_.state_folder =
        testing::TempDir() + "daemon_" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(options_.state_folder);
    Start();
  }

  void Start() {
    absl::StatusOr<std::unique_ptr<Daemon>> daemon =
        StartDaemon(options_, *clock_, *log_);
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    const auto channel = grpc::CreateChannel(
        daemon_->client_address(), grpc::InsecureChannelCredentials());
    jobs_ = v1::Jobs::NewStub(channel);
    reports_ = v1::Reports::NewStub(channel);
    models_ = v1::Models::NewStub(channel);
    targets_ = v1::Targets::NewStub(channel);
    cas_ = reapi::ContentAddressableStorage::NewStub(channel);
    bytes_ = bs::ByteStream::NewStub(channel);
  }

  void Stop() { daemon_.reset(); }

  std::unique_ptr<FakeWorker> Worker(FakeWorkerOptions options = {}) {
    options.address = daemon_->worker_address();
    return StartFakeWorker(options);
  }

  v1::Digest Upload(const std::string& text) {
    const Digest digest = DigestOf(text);
    reapi::BatchUpdateBlobsRequest request;
    reapi::BatchUpdateBlobsRequest::Request& blob = *request.add_requests();
    blob.mutable_digest()->set_hash(digest.hash);
    blob.mutable_digest()->set_size_bytes(digest.size_bytes);
    blob.set_data(text);
    reapi::BatchUpdateBlobsResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        cas_->BatchUpdateBlobs(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.responses(0).status().code(), 0);
    return ToProto(digest);
  }

  v1::CreateJobRequest Profile(const std::string& model = "int8 net") {
    v1::CreateJobRequest request;
    *request.mutable_model() = Upload(model);
    *request.add_targets()->mutable_digest() = Upload("conv;sram=64");
    request.add_goals(v1::PROFILE);
    return request;
  }

  v1::Job Create(const v1::CreateJobRequest& request) {
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->CreateJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  // All events from `after` on, until the job is over.
  std::vector<v1::JobEvent> Watch(const std::string& id, int64_t after = 0) {
    v1::WatchJobRequest request;
    request.set_id(id);
    request.set_after_sequence(after);
    grpc::ClientContext context;
    const auto reader = jobs_->WatchJob(&context, request);
    std::vector<v1::JobEvent> events;
    v1::JobEvent event;
    while (reader->Read(&event)) events.push_back(event);
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return events;
  }

  // Returns once the job has said something of that kind.
  void WatchUntil(const std::string& id, v1::JobEvent::EventCase kind) {
    v1::WatchJobRequest request;
    request.set_id(id);
    grpc::ClientContext context;
    const auto reader = jobs_->WatchJob(&context, request);
    v1::JobEvent event;
    while (reader->Read(&event)) {
      if (event.event_case() == kind) break;
    }
    EXPECT_EQ(event.event_case(), kind);
    context.TryCancel();
    reader->Finish();
  }

  v1::Job Get(const std::string& id) {
    v1::GetJobRequest request;
    request.set_id(id);
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->GetJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  // Sends `data` from `offset` on; without `finish`, breaks the stream instead.
  grpc::Status Write(const std::string& name, int64_t offset,
                     const std::string& data, bool finish,
                     int64_t* committed = nullptr) {
    grpc::ClientContext context;
    bs::WriteResponse response;
    const auto writer = bytes_->Write(&context, &response);
    constexpr size_t kPiece = 100'000;
    for (size_t at = 0; at < data.size() || at == 0; at += kPiece) {
      bs::WriteRequest request;
      if (at == 0) request.set_resource_name(name);
      request.set_write_offset(offset + static_cast<int64_t>(at));
      request.set_data(data.substr(at, kPiece));
      request.set_finish_write(finish && at + kPiece >= data.size());
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (committed != nullptr) *committed = response.committed_size();
    return status;
  }

  int64_t Committed(const std::string& name) {
    bs::QueryWriteStatusRequest request;
    request.set_resource_name(name);
    bs::QueryWriteStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        bytes_->QueryWriteStatus(&context, request, &response);
    return status.ok() ? response.committed_size() : -1;
  }

  std::string Read(const Digest& digest, int64_t offset = 0,
                   int64_t limit = 0) {
    bs::ReadRequest request;
    request.set_resource_name("blobs/" + digest.ToString());
    request.set_read_offset(offset);
    request.set_read_limit(limit);
    grpc::ClientContext context;
    const auto reader = bytes_->Read(&context, request);
    std::string all;
    bs::ReadResponse response;
    while (reader->Read(&response)) all += response.data();
    const grpc::Status status = reader->Finish();
    return status.ok() ? all : "error: " + status.error_message();
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  DaemonOptions options_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Reports::Stub> reports_;
  std::unique_ptr<v1::Models::Stub> models_;
  std::unique_ptr<v1::Targets::Stub> targets_;
  std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_;
  std::unique_ptr<bs::ByteStream::Stub> bytes_;
};

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
  EXPECT_EQ(done.stages_size(), 9);
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
  request.mutable_options()->mutable_run_deadline()->set_nanos(1000);
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

TEST_F(DaemonTest, UnfinishedJobsAreRunAgainAfterARestart) {
  auto worker = Worker({.hang_on = "emit"});
  const v1::Job job = Create(Profile());
  WatchUntil(job.id(), v1::JobEvent::kStageFinished);
  const v1::Job queued = Create(Profile("int8 other"));
  Stop();
  worker.reset();
  Start();
  EXPECT_LT(Get(job.id()).state(), v1::SUCCEEDED);
  worker = Worker();
  const std::vector<v1::JobEvent> events = Watch(job.id());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(events.back().state(), v1::SUCCEEDED);
  EXPECT_EQ(Watch(queued.id()).back().state(), v1::SUCCEEDED);
  // Import had been done before.
  int imports = 0;
  for (const std::string& stage : worker->Executed()) {
    if (stage == "import") ++imports;
  }
  EXPECT_LE(imports, 1);
}

TEST_F(DaemonTest, EvictsWhatNobodyUsesAndMakesItAgain) {
  namespace fs = std::filesystem;
  const auto files = [&](const char* folder) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(
             fs::path(options_.state_folder) / folder)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  };
  auto worker = Worker();
  const v1::Job job = Create(Profile());
  EXPECT_EQ(Watch(job.id()).back().state(), v1::SUCCEEDED);
  Stop();
  worker.reset();
  for (const char* folder : {"blobs", "results"}) {
    EXPECT_FALSE(files(folder).empty());
    for (const fs::path& file : files(folder)) {
      fs::last_write_time(file,
                          fs::last_write_time(file) - std::chrono::hours(1));
    }
  }
  options_.cache_limit_bytes = 1;
  Start();
  while (!files("results").empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The job and its report are no cache.
  EXPECT_EQ(Get(job.id()).state(), v1::SUCCEEDED);
  worker = Worker();
  EXPECT_EQ(Watch(Create(Profile()).id()).back().state(), v1::SUCCEEDED);
  EXPECT_FALSE(worker->Executed().empty());
}

// Whatever a job is doing when the daemon is asked to end, it must not fail.
TEST_F(DaemonTest, EndingTheDaemonFailsNoJob) {
  for (int round = 0; round < 10; ++round) {
    auto worker = Worker();
    std::vector<std::string> ids;
    for (int i = 0; i < 8; ++i) {
      ids.push_back(
          Create(Profile(absl::StrCat("int8 net ", round, " ", i))).id());
    }
    Stop();
    worker.reset();
    Start();
    for (const std::string& id : ids) {
      const v1::Job job = Get(id);
      EXPECT_NE(job.state(), v1::FAILED) << job.error().message();
    }
  }
}

// Clients that ask while the daemon ends are refused, or their jobs are there
// afterwards.
TEST_F(DaemonTest, WhatAnEndingDaemonTakesIsKept) {
  const v1::CreateJobRequest request = Profile();
  std::mutex mutex;
  std::vector<std::string> taken;
  std::vector<grpc::Status> refused;
  std::vector<std::thread> clients;
  clients.reserve(4);
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      while (true) {
        v1::Job job;
        grpc::ClientContext context;
        const grpc::Status status = jobs_->CreateJob(&context, request, &job);
        std::lock_guard lock(mutex);
        if (!status.ok()) {
          refused.push_back(status);
          return;
        }
        taken.push_back(job.id());
      }
    });
  }
  for (bool any = false; !any;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::lock_guard lock(mutex);
    any = !taken.empty() || !refused.empty();
  }
  Stop();
  for (std::thread& client : clients) client.join();
  for (const grpc::Status& status : refused) {
    // The latter is gRPC's own, for calls that are cut off at the very end.
    EXPECT_TRUE(status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                status.error_code() == grpc::StatusCode::CANCELLED)
        << status.error_code() << ": " << status.error_message();
  }
  ASSERT_FALSE(taken.empty());
  Start();
  const auto worker = Worker();
  for (const std::string& id : taken) {
    EXPECT_EQ(Watch(id).back().state(), v1::SUCCEEDED);
  }
}

TEST_F(DaemonTest, OneDaemonPerStateFolder) {
  const absl::Status status = StartDaemon(options_, *clock_, *log_).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
}

TEST_F(DaemonTest, InspectsWithoutAJob) {
  const auto worker = Worker();
  v1::InspectModelRequest request;
  *request.mutable_model() = Upload("int8 net");
  v1::ModelDescription description;
  grpc::ClientContext context;
  const grpc::Status status =
      models_->InspectModel(&context, request, &description);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(description.layers_size(), 1);
  *request.mutable_model() = Upload("bad net");
  grpc::ClientContext bad;
  EXPECT_EQ(models_->InspectModel(&bad, request, &description).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, KnowsItsTargetsAndChecksOthers) {
  const auto worker = Worker();
  v1::ListTargetsResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(targets_->ListTargets(&context, {}, &list).ok());
  ASSERT_GT(list.targets_size(), 0);
  v1::GetTargetRequest get;
  get.set_name(list.targets(0).name());
  v1::TargetInfo info;
  grpc::ClientContext got;
  ASSERT_TRUE(targets_->GetTarget(&got, get, &info).ok());
  EXPECT_EQ(Read(*FromProto(info.digest())), info.text());
  get.set_name("no-such-chip");
  grpc::ClientContext missing;
  EXPECT_EQ(targets_->GetTarget(&missing, get, &info).error_code(),
            grpc::StatusCode::NOT_FOUND);

  v1::ValidateTargetRequest validate;
  v1::ValidateTargetResponse answer;
  *validate.mutable_target() = Upload("nonsense");
  grpc::ClientContext bad;
  ASSERT_TRUE(targets_->ValidateTarget(&bad, validate, &answer).ok());
  EXPECT_FALSE(answer.valid());
  EXPECT_THAT(answer.problem().message(), HasSubstr("not a target"));
  *validate.mutable_target() = Upload("conv;sram=1");
  grpc::ClientContext good;
  ASSERT_TRUE(targets_->ValidateTarget(&good, validate, &answer).ok());
  EXPECT_TRUE(answer.valid());
}

TEST_F(DaemonTest, UploadsResumeAcrossStreamsAndRestarts) {
  std::string data(1'000'000, 'x');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 251);
  const Digest digest = DigestOf(data);
  const std::string name = "uploads/some-uuid/blobs/" + digest.ToString();
  EXPECT_EQ(Committed(name), -1);
  ASSERT_TRUE(Write(name, 0, data.substr(0, 300'000), false).ok());
  EXPECT_EQ(Committed(name), 300'000);
  ASSERT_TRUE(Write(name, 300'000, data.substr(300'000, 200'000), false).ok());
  Stop();
  Start();
  EXPECT_EQ(Committed(name), 500'000);
  // A gap is refused; a repeated part is not.
  EXPECT_EQ(Write(name, 600'000, data.substr(600'000), true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  int64_t committed = 0;
  const grpc::Status finished =
      Write(name, 400'000, data.substr(400'000), true, &committed);
  ASSERT_TRUE(finished.ok()) << finished.error_message();
  EXPECT_EQ(committed, 1'000'000);
  EXPECT_EQ(Read(digest), data);
  EXPECT_EQ(Read(digest, 999'000, 500), data.substr(999'000, 500));
  EXPECT_EQ(Read(digest, 1'000'000), "");
  EXPECT_THAT(Read(digest, 1'000'001), HasSubstr("error"));
  // Once there, it need not be sent again, under any id.
  const std::string again = "uploads/other/blobs/" + digest.ToString();
  ASSERT_TRUE(Write(again, 0, data.substr(0, 10), false, &committed).ok());
  EXPECT_EQ(committed, 1'000'000);
}

TEST_F(DaemonTest, RefusesBytesThatAreNotWhatTheyClaim) {
  const Digest digest = DigestOf("right");
  const std::string name = "uploads/u/blobs/" + digest.ToString();
  EXPECT_EQ(Write(name, 0, "wrong", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Read(digest), HasSubstr("no such blob"));
  EXPECT_EQ(Write(name, 0, "right and more", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // The same id works once the bytes are right.
  EXPECT_TRUE(Write(name, 0, "right", true).ok());
  EXPECT_EQ(Read(digest), "right");
  const char* kBadNames[] = {"", "blobs/x/1", "uploads/u/blobs/zz/5",
                             "uploads/u/blobs", "uploads"};
  for (const char* bad : kBadNames) {
    EXPECT_EQ(Write(bad, 0, "right", true).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << bad;
  }
  const std::string huge =
      absl::StrCat("uploads/u/blobs/", digest.hash, "/99999999999");
  EXPECT_EQ(Write(huge, 0, "right", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, SaysThatItIsHealthy) {
  for (const std::string& address :
       {daemon_->client_address(), daemon_->worker_address()}) {
    grpc::GenericStub stub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice whole_server;  // An empty HealthCheckRequest.
    const auto call =
        stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                              grpc::ByteBuffer(&whole_server, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    ASSERT_TRUE(status.ok()) << status.error_message();
    grpc::Slice slice;
    ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
    // HealthCheckResponse{status: SERVING}.
    EXPECT_EQ(std::string(slice.begin(), slice.end()), "\x08\x01");
  }
}

TEST_F(DaemonTest, WorkersSeeNoJobsAndClientsNoSessions) {
  const auto workers = grpc::CreateChannel(daemon_->worker_address(),
                                           grpc::InsecureChannelCredentials());
  v1::ListJobsResponse page;
  grpc::ClientContext context;
  EXPECT_EQ(
      v1::Jobs::NewStub(workers)->ListJobs(&context, {}, &page).error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
  const auto clients = grpc::CreateChannel(daemon_->client_address(),
                                           grpc::InsecureChannelCredentials());
  grpc::ClientContext session;
  const auto stream = v1::Workers::NewStub(clients)->Session(&session);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(ApplyConfigTest, TakesWhatIsSetAndRefusesNegatives) {
  DaemonOptions options;
  v1::DaemonConfig config;
  config.set_listen("host:1");
  config.set_max_queued_jobs(5);
  config.set_heartbeat_ms(100);
  ASSERT_TRUE(ApplyConfig(config, options).ok());
  EXPECT_EQ(options.listen, "host:1");
  EXPECT_EQ(options.workers_listen, "127.0.0.1:7434");
  EXPECT_EQ(options.max_queued_jobs, 5);
  EXPECT_EQ(options.max_running_jobs, 16);
  EXPECT_EQ(options.heartbeat, absl::Milliseconds(100));
  config.set_max_blob_bytes(-1);
  EXPECT_FALSE(ApplyConfig(config, options).ok());
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
