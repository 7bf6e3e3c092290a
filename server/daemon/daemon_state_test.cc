// Large answers, large requests and state that is taken away.

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/daemon/testing/daemon_fixture.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

TEST_F(DaemonTest, ALargeNameIsRefusedAndNothingOfItIsKept) {
  v1::CreateJobRequest request = Profile();
  request.set_model_name(std::string(15 << 20, 'x'));
  for (int i = 0; i < 3; ++i) {
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->CreateJob(&context, request, &job);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("1048576 bytes"), std::string::npos)
        << status.error_message();
  }
  v1::InspectModelRequest inspect;
  *inspect.mutable_model() = request.model();
  inspect.set_model_name(std::string(2000, 'x'));
  v1::ModelDescription description;
  grpc::ClientContext context;
  const grpc::Status status =
      models_->InspectModel(&context, inspect, &description);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("model_name"), std::string::npos);
}

// With gRPC's own limit of 4 MiB, which the stubs here have.
TEST_F(DaemonTest, ManyLargeJobsAreListedAndLookedUp) {
  v1::CreateJobRequest request = Profile();
  request.set_model_name(std::string(1024, 'm'));
  for (int i = 0; i < 25; ++i) {
    request.add_transforms()->mutable_scale()->Resize(4096, 1.0);
  }
  std::vector<std::string> ids;
  for (int i = 0; i < 24; ++i) ids.push_back(Create(request).id());
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&] {
      v1::ListJobsRequest all;
      all.set_page_size(1000);
      v1::ListJobsResponse response;
      grpc::ClientContext context;
      const grpc::Status status = jobs_->ListJobs(&context, all, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.jobs_size(), 24);
      EXPECT_LT(response.ByteSizeLong(), 100u << 10);
    });
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(Get(id).request().transforms_size(), 25);
  }
  for (std::thread& caller : callers) caller.join();
  Stop();
  Start();
  const auto worker = Worker();
  for (const std::string& id : ids) {
    EXPECT_EQ(Watch(id).back().state(), v1::SUCCEEDED);
  }
}

TEST_F(DaemonTest, EndsOnceItsJobDatabaseIsGone) {
  Create(Profile());
  EXPECT_TRUE(daemon_->CheckState().ok());
  fs::remove(options_.state_folder + "/jobs.db");
  v1::Job job;
  grpc::ClientContext context;
  const v1::CreateJobRequest request = Profile("int8 other");
  const grpc::Status status = jobs_->CreateJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  const absl::Status gone = daemon_->CheckState();
  EXPECT_EQ(GetErrorDetail(gone)->reason, "STATE_REMOVED") << gone;
}

// A corrupt input is found before a stage fails of it.
TEST_F(DaemonTest, CorruptIntermediatesAreMadeAgain) {
  auto worker = Worker();
  EXPECT_EQ(Watch(Create(Profile()).id()).back().state(), v1::SUCCEEDED);
  worker.reset();
  Stop();
  int corrupted = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(options_.state_folder + "/blobs")) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out);
    file << '\xff';
    ++corrupted;
  }
  EXPECT_GT(corrupted, 3);
  Start();
  worker = Worker();
  // Sends its inputs again: they are not said to be there.
  const std::string id = Create(Profile()).id();
  EXPECT_EQ(Watch(id).back().state(), v1::SUCCEEDED);
  const v1::Job job = Get(id);
  for (const v1::Artifact& artifact : job.artifacts()) {
    const Digest digest{artifact.digest().hash(),
                        artifact.digest().size_bytes()};
    EXPECT_EQ(DigestOf(Read(digest)), digest);
  }
}

TEST_F(DaemonTest, SaysWhatWasLostWithTheDatabase) {
  const std::string id = Create(Profile()).id();
  Stop();
  fs::resize_file(options_.state_folder + "/jobs.db", 0);
  Start();
  v1::GetJobRequest request;
  request.set_id(id);
  v1::Job job;
  grpc::ClientContext context;
  const grpc::Status status = jobs_->GetJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("missing or empty"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace edgekiln::server
