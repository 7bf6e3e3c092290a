// What outlives the daemon, and what it evicts.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "server/daemon/testing/daemon_fixture.h"

namespace edgekiln::server {
namespace {

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
  Mutex mutex;
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
        MutexLock lock(mutex);
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
    MutexLock lock(mutex);
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

TEST_F(DaemonTest, SaysThatItsFolderIsGone) {
  EXPECT_TRUE(daemon_->CheckState().ok());
  std::filesystem::remove_all(options_.state_folder);
  const absl::Status gone = daemon_->CheckState();
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  const std::optional<ErrorDetail> detail = GetErrorDetail(gone);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->where, options_.state_folder);
  EXPECT_FALSE(detail->fix.empty());
}

TEST_F(DaemonTest, OneDaemonPerStateFolder) {
  const absl::Status status = StartDaemon(options_, *clock_, *log_).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
}

}  // namespace
}  // namespace edgekiln::server
