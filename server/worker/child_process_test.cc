#include "server/worker/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/worker/child_main.h"
#include "server/worker/test_child.h"

namespace edgekiln::server {
namespace {

v1::ChildRequest Request(void (*choose)(v1::StageOptions&)) {
  v1::ChildRequest request;
  choose(*request.mutable_options());
  return request;
}

absl::StatusOr<v1::ChildReply::Result> Do(ChildProcess& child,
                                          const v1::ChildRequest& request) {
  return child.Execute(request, "some_stage", {}, nullptr);
}

v1::ChildRequest Import(const std::string& model) {
  v1::ChildRequest request;
  request.mutable_options()->mutable_import();
  request.add_inputs()->set_role("model");
  request.mutable_inputs(0)->set_data(model);
  return request;
}

TEST(ChildProcessTest, ReturnsOutputs) {
  ChildProcess child(TestChild());
  // More than any socket buffers.
  const std::string model(5 << 20, 'm');
  const auto result = Do(child, Import(model));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outputs_size(), 1);
  EXPECT_EQ(result->outputs(0).role(), "graph");
  EXPECT_EQ(result->outputs(0).data(), "graph of " + model);
  EXPECT_EQ(result->result().summary().import().format(), "test");
  EXPECT_EQ(result->result().warnings(0), "beware");
  EXPECT_FALSE(result->has_infra_error());
}

TEST(ChildProcessTest, StaysWarm) {
  ChildProcess child(TestChild());
  ASSERT_TRUE(Do(child, Import("a")).ok());
  const pid_t pid = child.pid();
  EXPECT_NE(pid, 0);
  ASSERT_TRUE(Do(child, Import("b")).ok());
  EXPECT_EQ(child.pid(), pid);
}

TEST(ChildProcessTest, UserErrorsAreResults) {
  ChildProcess child(TestChild());
  const auto result = Do(child, Request([](auto& o) { o.mutable_simplify(); }));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->result().error().fault(), v1::ErrorDetail::USER);
  EXPECT_EQ(result->result().error().message(), "the user did it");
  EXPECT_FALSE(result->has_infra_error());
  EXPECT_NE(child.pid(), 0);
}

TEST(ChildProcessTest, OurErrorsAreNot) {
  ChildProcess child(TestChild());
  const auto result = Do(child, Request([](auto& o) { o.mutable_quantize(); }));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->has_infra_error());
  EXPECT_FALSE(result->result().has_error());
  EXPECT_EQ(child.pid(), 0) << "the child must be replaced";
}

struct CrashCase {
  std::string name;
  void (*choose)(v1::StageOptions&);
  std::string end;
};

class CrashTest : public testing::TestWithParam<CrashCase> {};

TEST_P(CrashTest, IsOneFailureThatNamesStageAndEnd) {
  ChildProcess child(TestChild());
  const auto result = Do(child, Request(GetParam().choose));
  ASSERT_EQ(result.status().code(), absl::StatusCode::kInternal);
  const auto detail = GetErrorDetail(result.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->reason, "STAGE_CRASHED");
  EXPECT_EQ(detail->where, "stage some_stage");
  EXPECT_NE(detail->what.find(GetParam().end), std::string::npos)
      << detail->what;
  // The next stage finds a new child.
  EXPECT_TRUE(Do(child, Import("a")).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, CrashTest,
    testing::Values(
        CrashCase{"Abort", [](auto& o) { o.mutable_describe(); }, "signal 6"},
        CrashCase{"Killed", [](auto& o) { o.mutable_emit(); }, "signal 9"},
        CrashCase{"Exit", [](auto& o) { o.mutable_bundle(); }, "exit code 7"}),
    [](const auto& info) { return info.param.name; });

TEST(ChildProcessTest, TestHookCrashesOneStage) {
  ChildOptions options = TestChild();
  options.arguments = {"import"};
  ChildProcess child(options);
  EXPECT_EQ(Do(child, Import("a")).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_TRUE(Do(child, Request([](auto& o) { o.mutable_simplify(); })).ok());
}

TEST(ChildProcessTest, MemoryIsLimited) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "sanitizers need address space";
  ChildProcess child(TestChild());
  const auto result = Do(child, Request([](auto& o) { o.mutable_tile(); }));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->infra_error().reason(), "STAGE_OUT_OF_MEMORY");
  EXPECT_EQ(result->infra_error().limit(), "1024 MiB");
  EXPECT_TRUE(Do(child, Import("a")).ok());
}

TEST(ChildProcessTest, CancelKillsAtOnce) {
  ChildProcess child(TestChild());
  ASSERT_TRUE(Do(child, Import("a")).ok());
  const pid_t pid = child.pid();
  const int cancel = eventfd(0, EFD_CLOEXEC);
  std::thread canceller([&] {
    usleep(100 * 1000);
    eventfd_write(cancel, 1);
  });
  const auto result =
      child.Execute(Request([](auto& o) { o.mutable_partition(); }), "forever",
                    {.cancel_fd = cancel}, nullptr);
  canceller.join();
  close(cancel);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(child.pid(), 0);
  EXPECT_NE(kill(pid, 0), 0) << "the process must be gone";
}

TEST(ChildProcessTest, DeadlineKills) {
  ChildProcess child(TestChild());
  const auto result = child.Execute(
      Request([](auto& o) { o.mutable_partition(); }), "forever",
      {.deadline = MessageChannel::Now() + absl::Milliseconds(200)}, nullptr);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(child.pid(), 0);
}

TEST(ChildProcessTest, ReportsProgress) {
  ChildProcess child(TestChild());
  std::vector<int64_t> seen;
  const auto result = child.Execute(
      Request([](auto& o) { o.mutable_calibrate(); }), "calibrate", {},
      [&](const v1::StageProgress& p) { seen.push_back(p.done()); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3}));
}

TEST(ChildProcessTest, DeadWhileIdleIsReplaced) {
  ChildProcess child(TestChild());
  ASSERT_TRUE(Do(child, Import("a")).ok());
  const pid_t pid = child.pid();
  kill(pid, SIGKILL);
  // Dead, but not yet waited for: the channel has closed by then.
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(Do(child, Import("b")).ok());
  EXPECT_NE(child.pid(), pid);
}

TEST(ChildProcessTest, InheritsNoDescriptors) {
  const int leak = fcntl(STDERR_FILENO, F_DUPFD, 10);  // Without close-on-exec.
  ASSERT_GT(leak, kChildChannelFd);
  ChildProcess child(TestChild());
  const auto result =
      Do(child, Request([](auto& o) { o.mutable_resolve_target(); }));
  close(leak);
  ASSERT_TRUE(result.ok()) << result.status();
  // stdio, the channel, and the directory being listed.
  const std::string& open = result->outputs(1).data();
  EXPECT_EQ(std::count(open.begin(), open.end(), ' '), 5) << open;
}

TEST(ChildProcessTest, MissingBinaryIsAnError) {
  ChildOptions options;
  options.binary = "/nonexistent";
  ChildProcess child(options);
  EXPECT_EQ(Do(child, Import("a")).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace edgekiln::server
