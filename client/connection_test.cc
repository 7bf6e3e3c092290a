#include "client/connection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/rpc_status.h"
#include "client/testing/fake_daemon.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest()
      : folder_(NewTempFolder()),
        files_(NewPosixFileSystem()),
        clock_(NewRealClock()) {
    options_.grpc_target = "unix:" + folder_ + "/s";
    options_.shown = "the-address";
    options_.fix = "the-fix";
  }
  ~ConnectionTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_;
  const std::unique_ptr<FileSystem> files_;
  const std::unique_ptr<Clock> clock_;
  ConnectionOptions options_;
};

TEST_F(ConnectionTest, NobodyThereNamesAddressAndFix) {
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::Status status = connection->ListTargets().status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra);
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, kReasonUnreachable);
  EXPECT_NE(detail->where.find("the-address"), std::string::npos);
  EXPECT_EQ(detail->fix, "the-fix");
}

TEST_F(ConnectionTest, UploadToNobodyIsTheSame) {
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::Status status =
      connection->Upload({LocalBlob{.path = "x", .digest = DigestOf("x")}}, {});
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(detail->reason, kReasonUnreachable);
}

TEST_F(ConnectionTest, KeepsWhatTheDaemonSays) {
  FakeDaemon daemon(folder_ + "/s");
  daemon.jobs.get_job = [](const v1::GetJobRequest&, v1::Job*) {
    v1::ErrorDetail detail;
    detail.set_fault(v1::ErrorDetail::USER);
    detail.set_reason("JOB_UNKNOWN");
    detail.set_what("no such job");
    detail.set_where("7");
    detail.set_message("no such job; where: 7");
    return RichError(grpc::StatusCode::NOT_FOUND, detail);
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel);
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "JOB_UNKNOWN");
  EXPECT_EQ(detail->where, "7");
}

TEST_F(ConnectionTest, FetchesAnAnswerThatIsTooLargeForAMessage) {
  FakeDaemon daemon(folder_ + "/s");
  v1::Job whole;
  whole.set_id("7");
  for (int i = 0; i < 100'000; ++i) {
    whole.add_stages()->set_name("simulate[" + std::to_string(i) + "], " +
                                 std::string(40, 's'));
  }
  const std::string bytes = whole.SerializeAsString();
  ASSERT_GT(bytes.size(), 5u << 20);
  const Digest digest = DigestOf(bytes);
  {
    MutexLock lock(daemon.store.mutex);
    daemon.store.blobs[digest.ToString()] = bytes;
  }
  daemon.jobs.get_job = [&](const v1::GetJobRequest&, v1::Job* job) {
    job->set_id("7");
    *job->mutable_whole() = ToProto(digest);
    return grpc::Status::OK;
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::StatusOr<v1::Job> job = connection->GetJob("7");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->SerializeAsString(), bytes);
  // What is not there is an error, not half an answer.
  {
    MutexLock lock(daemon.store.mutex);
    daemon.store.blobs.clear();
  }
  const absl::Status gone = connection->GetJob("7").status();
  EXPECT_TRUE(absl::IsNotFound(gone)) << gone;
}

TEST_F(ConnectionTest, RetriesADaemonThatHasAnsweredBefore) {
  FakeDaemon daemon(folder_ + "/s");
  int calls = 0;
  daemon.jobs.get_job = [&](const v1::GetJobRequest&, v1::Job* job) {
    ++calls;
    if (calls == 2 || calls == 3) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
    }
    job->set_id("7");
    return grpc::Status::OK;
  };
  int revived = 0;
  options_.revive = [&] {
    ++revived;
    return absl::OkStatus();
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  ASSERT_TRUE(connection->GetJob("7").ok());
  ASSERT_TRUE(connection->GetJob("7").ok());
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(revived, 2);
}

// Found while it was ending: the next one takes the same request.
TEST_F(ConnectionTest, ADaemonOnItsWayOutIsAskedAgain) {
  FakeDaemon daemon(folder_ + "/s");
  int calls = 0;
  daemon.jobs.get_job = [&](const v1::GetJobRequest&, v1::Job*) {
    if (++calls > 1) return grpc::Status::OK;
    v1::ErrorDetail detail;
    detail.set_fault(v1::ErrorDetail::INFRA);
    detail.set_reason(kReasonShuttingDown);
    return RichError(grpc::StatusCode::UNAVAILABLE, detail);
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls, 2);
}

TEST_F(ConnectionTest, ACallThatIsCutOffIsMadeAgain) {
  FakeDaemon daemon(folder_ + "/s");
  int calls = 0;
  daemon.jobs.get_job = [&](const v1::GetJobRequest&, v1::Job*) {
    return ++calls == 2 ? grpc::Status::CANCELLED : grpc::Status::OK;
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  ASSERT_TRUE(connection->GetJob("7").ok());
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls, 3);
}

// The first look may already meet nobody, if one can be started.
TEST_F(ConnectionTest, RevivesBeforeTheFirstAnswer) {
  std::unique_ptr<FakeDaemon> daemon;
  options_.revive = [&] {
    if (daemon == nullptr) {
      daemon = std::make_unique<FakeDaemon>(folder_ + "/s");
      daemon->jobs.get_job = [](const v1::GetJobRequest&, v1::Job*) {
        return grpc::Status::OK;
      };
    }
    return absl::OkStatus();
  };
  const auto connection = NewConnection(options_, *files_, *clock_);
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_TRUE(status.ok()) << status;
}

// One that restarts is waited for, far longer than a call may take.
TEST_F(ConnectionTest, WaitsForADaemonThatRestarts) {
  auto daemon = std::make_unique<FakeDaemon>(folder_ + "/s");
  const auto answer = [](const v1::GetJobRequest&, v1::Job*) {
    return grpc::Status::OK;
  };
  daemon->jobs.get_job = answer;
  FakeClock clock;
  options_.call_timeout = absl::InfiniteDuration();
  std::vector<bool> told;
  bool interrupted = false;
  options_.on_waiting = [&](bool waiting) { told.push_back(waiting); };
  options_.interrupted = [&] {
    if (clock.Monotonic() > absl::Seconds(60) && daemon == nullptr) {
      daemon = std::make_unique<FakeDaemon>(folder_ + "/s");
      daemon->jobs.get_job = answer;
    }
    // gRPC connects in real time.
    if (daemon != nullptr) absl::SleepFor(absl::Milliseconds(5));
    return interrupted;
  };
  const auto connection = NewConnection(options_, *files_, clock);
  ASSERT_TRUE(connection->GetJob("7").ok());
  EXPECT_TRUE(told.empty());
  daemon.reset();
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(clock.Monotonic(), absl::Seconds(60));
  EXPECT_EQ(told, (std::vector<bool>{true, false}));
  // Not against the user's will.
  daemon.reset();
  interrupted = true;
  EXPECT_EQ(ExitCodeFor(connection->GetJob("7").status()),
            ExitCode::kInterrupted);
}

TEST_F(ConnectionTest, DoesNotWaitForEver) {
  auto daemon = std::make_unique<FakeDaemon>(folder_ + "/s");
  daemon->jobs.get_job = [](const v1::GetJobRequest&, v1::Job*) {
    return grpc::Status::OK;
  };
  FakeClock clock;
  options_.call_timeout = absl::InfiniteDuration();
  options_.reconnect_for = absl::Seconds(20);
  const auto connection = NewConnection(options_, *files_, clock);
  ASSERT_TRUE(connection->GetJob("7").ok());
  daemon.reset();
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_EQ(GetErrorDetail(status)->reason, kReasonUnreachable) << status;
  EXPECT_GE(clock.Monotonic(), absl::Seconds(20));
  EXPECT_LT(clock.Monotonic(), absl::Seconds(40));
}

TEST_F(ConnectionTest, TimeoutIsTheUsersDeadline) {
  FakeDaemon daemon(folder_ + "/s");
  int calls = 0;
  daemon.jobs.get_job = [&](const v1::GetJobRequest&, v1::Job*) {
    if (++calls > 1) absl::SleepFor(absl::Milliseconds(400));
    return grpc::Status::OK;
  };
  options_.timeout = absl::Milliseconds(300);
  options_.deadline = clock_->Now() + options_.timeout;
  const auto connection = NewConnection(options_, *files_, *clock_);
  ASSERT_TRUE(connection->GetJob("7").ok());
  const absl::Status status = connection->GetJob("7").status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kDeadline) << status;
}

// Nobody accepts before the time is up.
TEST_F(ConnectionTest, TimeoutWhileConnecting) {
  options_.timeout = absl::Milliseconds(1);
  options_.deadline = clock_->Now() - absl::Milliseconds(1);
  const std::string socket = options_.grpc_target;
  // A remote one may as well be down.
  options_.grpc_target = "127.0.0.1:9";
  auto connection = NewConnection(options_, *files_, *clock_);
  absl::Status status = connection->ListTargets().status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra) << status;
  EXPECT_EQ(GetErrorDetail(status)->where, "the-address (no answer in time)");
  // One's own daemon listened a moment ago, and what listens on a socket is on
  // this machine.
  for (const bool own : {true, false}) {
    options_.grpc_target = own ? "127.0.0.1:9" : socket;
    options_.revive = nullptr;
    if (own) options_.revive = [] { return absl::OkStatus(); };
    connection = NewConnection(options_, *files_, *clock_);
    status = connection->ListTargets().status();
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kDeadline) << status;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->reason, kReasonTimeout);
    EXPECT_EQ(detail->where, "the-address");
    EXPECT_EQ(detail->limit, "--timeout 1.0 ms");
  }
}

TEST(RpcStatusTest, WithoutDetailsKeepsTheCode) {
  const absl::Status status = FromGrpc(
      grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "bad\x1b token", "junk"));
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_EQ(status.message(), "bad? token");
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kAuth);
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(ParseServerAddressTest, Table) {
  const struct {
    std::string text;
    std::string want;  // Empty: refused.
  } cases[] = {
      {"localhost:7070", "dns:///localhost:7070"},
      {"10.0.0.1:80", "dns:///10.0.0.1:80"},
      {"[::1]:80", "dns:///[::1]:80"},
      {"unix:/run/x", "unix:/run/x"},
      {"/run/x", "unix:/run/x"},
      {"localhost", ""},
      {"localhost:", ""},
      {"localhost:0", ""},
      {"localhost:65536", ""},
      {":80", ""},
      {"::1:80", ""},
      {"http://localhost:80", ""},
      {"local host:80", ""},
      {"unix:relative", ""},
  };
  for (const auto& c : cases) {
    const auto got = ParseServerAddress(c.text);
    if (c.want.empty()) {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(*got, c.want);
    }
  }
}

TEST(ParseServerAddressTest, ARefusalNamesWhereTheAddressCameFrom) {
  const auto option = GetErrorDetail(ParseServerAddress("h").status());
  ASSERT_TRUE(option.has_value());
  EXPECT_EQ(option->where, "--server h");
  const auto variable =
      GetErrorDetail(ParseServerAddress("h", "EDGEKILN_SERVER=").status());
  ASSERT_TRUE(variable.has_value());
  EXPECT_EQ(variable->where, "EDGEKILN_SERVER=h");
  EXPECT_EQ(variable->fix, "for example EDGEKILN_SERVER=localhost:7433");
}

}  // namespace
}  // namespace edgekiln::client
