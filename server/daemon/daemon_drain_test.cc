// How a daemon ends, and what its health says meanwhile.

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "server/daemon/testing/daemon_fixture.h"

namespace edgekiln::server {
namespace {

using testing::HasSubstr;

constexpr char kJobs[] = "edgekiln.v1.Jobs";
constexpr char kWorkers[] = "edgekiln.v1.Workers";

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// What grpc.health.v1.Health.Check answers: 1 is SERVING, 2 NOT_SERVING. Minus
// the code of an error.
int HealthOf(const std::string& address, const std::string& service = "") {
  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  // HealthCheckRequest{service}.
  const grpc::Slice request(
      service.empty()
          ? std::string()
          : absl::StrCat("\n", std::string(1, service.size()), service));
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                            grpc::ByteBuffer(&request, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok) || !status.ok()) {
    return -static_cast<int>(status.error_code());
  }
  grpc::Slice slice;
  const bool whole = response.DumpToSingleSlice(&slice).ok();
  // HealthCheckResponse{status}.
  const bool is_status = whole && slice.size() == 2 && *slice.begin() == 8;
  return is_status ? *(slice.begin() + 1) : 0;
}

TEST_F(DaemonTest, SaysThatItIsHealthy) {
  EXPECT_EQ(HealthOf(daemon_->client_address()), 1);
  EXPECT_EQ(HealthOf(daemon_->worker_address()), 1);
}

TEST_F(DaemonTest, HealthFollowsWorkersAndRoom) {
  const std::string clients = daemon_->client_address();
  EXPECT_EQ(HealthOf(clients, kJobs), 1);
  EXPECT_EQ(HealthOf(clients, kWorkers), 2);
  EXPECT_EQ(HealthOf(clients, "no.such.Service"),
            -static_cast<int>(grpc::StatusCode::NOT_FOUND));
  auto worker = Worker();
  EXPECT_TRUE(Eventually([&] { return HealthOf(clients, kWorkers) == 1; }));
  worker.reset();
  EXPECT_TRUE(Eventually([&] { return HealthOf(clients, kWorkers) == 2; }));
  // More than any disk has.
  Stop();
  options_.disk_reserve_bytes = int64_t{1} << 60;
  Start();
  EXPECT_EQ(HealthOf(daemon_->client_address(), kJobs), 2);
  EXPECT_EQ(HealthOf(daemon_->client_address()), 1);
}

TEST_F(DaemonTest, HealthSaysThatJobsCannotBeStored) {
  const std::string clients = daemon_->client_address();
  std::filesystem::rename(options_.state_folder + "/jobs.db",
                          options_.state_folder + "/away");
  EXPECT_TRUE(Eventually([&] { return HealthOf(clients, kJobs) == 2; }));
  // Jobs that were acknowledged would be lost: such a daemon ends.
  EXPECT_TRUE(Eventually([&] { return HealthOf(clients) == 2; }));
  EXPECT_EQ(GetErrorDetail(daemon_->CheckState())->reason, "STATE_REMOVED");
}

TEST_F(DaemonTest, HealthSaysThatTheFolderIsGone) {
  std::filesystem::remove_all(options_.state_folder);
  EXPECT_TRUE(
      Eventually([&] { return HealthOf(daemon_->client_address()) == 2; }));
}

TEST_F(DaemonTest, DrainingLetsLeasesEndAndTakesNothingNew) {
  auto worker = Worker({.hang_on = "tile"});
  const std::string id = Create(Profile()).id();
  EXPECT_TRUE(Eventually([&] { return !daemon_->Drained(); }));
  const v1::CreateJobRequest next = Profile("int8 next");
  daemon_->Drain();
  EXPECT_EQ(HealthOf(daemon_->client_address()), 2);
  EXPECT_EQ(HealthOf(daemon_->worker_address()), 2);
  v1::Job refused;
  grpc::ClientContext context;
  const grpc::Status status = jobs_->CreateJob(&context, next, &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("shutting down"));
  // What is there is still answered.
  EXPECT_LE(Get(id).state(), v1::RUNNING);
  // Another worker gets nothing, not even what the first one leaves behind.
  const auto idle = Worker();
  worker.reset();
  EXPECT_TRUE(Eventually([&] { return daemon_->Drained(); }));
  EXPECT_TRUE(idle->Executed().empty());
  Stop();
  Start();
  const auto successor = Worker();
  EXPECT_EQ(Watch(id).back().state(), v1::SUCCEEDED);
}

TEST(StartDaemonTest, OtherMachinesNeedToBeAllowed) {
  const auto clock = NewRealClock();
  const auto log = NewNullLogger();
  DaemonOptions options;
  options.state_folder = testing::TempDir() + "exposed";
  std::filesystem::remove_all(options.state_folder);
  options.listen = "127.0.0.1:0";
  options.workers_listen = "0.0.0.0:0";
  const absl::Status refused = StartDaemon(options, *clock, *log).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(GetErrorDetail(refused)->reason, "INSECURE_NETWORK");
  EXPECT_FALSE(std::filesystem::exists(options.state_folder));
  options.insecure_network = true;
  EXPECT_TRUE(StartDaemon(options, *clock, *log).ok());
}

}  // namespace
}  // namespace edgekiln::server
