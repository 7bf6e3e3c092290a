#include "server/worker/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/worker/child_main.h"
#include "server/worker/cpu_priority.h"
#include "server/worker/kept_outputs.h"
#include "server/worker/testing/test_child.h"

namespace edgekiln::server {
namespace {

// A request and the bytes of its inputs.
struct Work {
  v1::ChildRequest request;
  std::vector<std::shared_ptr<const std::string>> inputs;

  void Add(const std::string& role, const std::string& bytes) {
    v1::BlobRef& input = *request.add_inputs();
    input.set_role(role);
    *input.mutable_digest() = ToProto(DigestOf(bytes));
    inputs.push_back(std::make_shared<const std::string>(bytes));
  }
};

Work Request(void (*choose)(v1::StageOptions&)) {
  Work work;
  choose(*work.request.mutable_options());
  return work;
}

// `asked` gets the positions of the inputs that the child wanted to have.
absl::StatusOr<v1::ChildReply::Result> Do(ChildProcess& child, const Work& work,
                                          std::vector<int>* asked = nullptr) {
  ChildProcess::Handlers handlers;
  handlers.supply = [&](const std::vector<int>& positions) {
    std::vector<std::shared_ptr<const std::string>> inputs;
    for (const int position : positions) {
      inputs.push_back(work.inputs[static_cast<size_t>(position)]);
      if (asked != nullptr) asked->push_back(position);
    }
    return inputs;
  };
  return child.Execute(work.request, "some_stage", {}, handlers);
}

Work Import(const std::string& model) {
  Work work = Request([](auto& o) { o.mutable_import(); });
  work.Add("model", model);
  return work;
}

Work Interpret(const std::string& graph, const std::string& chunk) {
  Work work = Request([](auto& o) { o.mutable_interpret(); });
  work.Add("graph", graph);
  work.Add("chunk", chunk);
  return work;
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

TEST(ChildProcessTest, GivesWayWhereItIsToldTo) {
  ChildProcess child(TestChild());
  const auto priority_of_next = [&](bool background) {
    child.SetBackground(background);
    EXPECT_TRUE(Do(child, Import("a")).ok());
    return getpriority(PRIO_PROCESS, static_cast<id_t>(child.pid()));
  };
  EXPECT_EQ(priority_of_next(true), kBackgroundNice);
  if (MayRaisePriority()) {
    EXPECT_EQ(priority_of_next(false), kStageNice);
    EXPECT_EQ(priority_of_next(true), kBackgroundNice);
  }
  child.Kill();
  EXPECT_EQ(priority_of_next(true), kBackgroundNice);
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
  std::string reason = "STAGE_CRASHED";
};

class CrashTest : public testing::TestWithParam<CrashCase> {};

TEST_P(CrashTest, IsOneFailureThatNamesStageAndEnd) {
  ChildProcess child(TestChild());
  const auto result = Do(child, Request(GetParam().choose));
  ASSERT_EQ(result.status().code(), absl::StatusCode::kInternal);
  const auto detail = GetErrorDetail(result.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->reason, GetParam().reason);
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
        CrashCase{"Killed", [](auto& o) { o.mutable_emit(); }, "signal 9",
                  "STAGE_KILLED"},
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
  if (!kLimitsAddressSpace) GTEST_SKIP() << kNothingRunsOut;
  ChildProcess child(TestChild());
  const auto result = Do(child, Request([](auto& o) { o.mutable_tile(); }));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->has_infra_error());
  const v1::ErrorDetail& error = result->result().error();
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_EQ(error.reason(), "STAGE_OUT_OF_MEMORY");
  EXPECT_EQ(error.where(), "stage tile");
  EXPECT_EQ(error.limit(), "1024 MiB (edgekiln-worker --memory-limit)");
  // Little more: it took its memory piece by piece.
  int64_t need = 0;
  absl::string_view text = error.need();
  ASSERT_TRUE(absl::ConsumePrefix(&text, "at least ") &&
              absl::ConsumeSuffix(&text, " MiB") &&
              absl::SimpleAtoi(text, &need))
      << error.need();
  EXPECT_GT(need, 1024);
  EXPECT_LT(need, 1024 + 128);
  EXPECT_EQ(child.pid(), 0) << "the child must be replaced";
  EXPECT_TRUE(Do(child, Import("a")).ok());
}

struct RunOutCase {
  std::string name;
  RunOut how;
  bool users;
  std::string reason;
  std::string need;  // A part of it.
};

Work RunsOut(RunOut how) {
  Work work = Request([](auto& o) { o.mutable_convert_data(); });
  work.request.mutable_options()->mutable_convert_data()->set_limit(
      static_cast<int64_t>(how));
  return work;
}

class RunOutTest : public testing::TestWithParam<RunOutCase> {};

TEST_P(RunOutTest, TellsWhoseFaultItIs) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << kNothingRunsOut;
  ChildOptions options = TestChild();
  // It lowers its own limit, which it otherwise may not.
  if (GetParam().how == RunOut::kMachine) options.arguments = {"--no-seccomp"};
  ChildProcess child(options);
  const auto result = Do(child, RunsOut(GetParam().how));
  v1::ErrorDetail error;
  if (!result.ok()) {
    error = ErrorToProto(result.status());
  } else {
    EXPECT_NE(result->has_infra_error(), result->result().has_error());
    error = result->has_infra_error() ? result->infra_error()
                                      : result->result().error();
  }
  EXPECT_EQ(error.fault(),
            GetParam().users ? v1::ErrorDetail::USER : v1::ErrorDetail::INFRA);
  EXPECT_EQ(error.reason(), GetParam().reason);
  EXPECT_NE(error.need().find(GetParam().need), std::string::npos)
      << error.need();
  EXPECT_NE(error.where().find("stage "), std::string::npos);
  EXPECT_EQ(child.pid(), 0) << "the child must be replaced";
  EXPECT_TRUE(Do(child, Import("a")).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, RunOutTest,
    testing::Values(
        RunOutCase{"Machine", RunOut::kMachine, false, "WORKER_OUT_OF_MEMORY",
                   "65 MiB more"},
        RunOutCase{"AtOnce", RunOut::kAtOnce, true, "STAGE_OUT_OF_MEMORY",
                   "at least 82"},
        RunOutCase{"Noexcept", RunOut::kNoexcept, true, "STAGE_OUT_OF_MEMORY",
                   ""},
        RunOutCase{"Length", RunOut::kLength, true, "STAGE_OUT_OF_MEMORY", ""},
        RunOutCase{"Stack", RunOut::kStack, true, "STAGE_OUT_OF_STACK", ""},
        RunOutCase{"Nothing", RunOut::kNothing, false, "STAGE_CRASHED", ""}),
    [](const auto& info) { return info.param.name; });

TEST(ChildProcessTest, AnUnlimitedStackHasNoLimitToTell) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << kNothingRunsOut;
  rlimit before = {};
  getrlimit(RLIMIT_STACK, &before);
  rlimit unlimited = before;
  unlimited.rlim_cur = RLIM_INFINITY;
  if (setrlimit(RLIMIT_STACK, &unlimited) != 0) {
    GTEST_SKIP() << "the hard limit of the stack is finite (ulimit -Hs), so "
                    "no child has an unlimited one; a shell in which root "
                    "has raised it (ulimit -Hs unlimited) runs this";
  }
  ChildProcess child(TestChild());
  const auto result = Do(child, RunsOut(RunOut::kStack));
  setrlimit(RLIMIT_STACK, &before);
  ASSERT_TRUE(result.ok()) << result.status();
  const v1::ErrorDetail& error = result->result().error();
  EXPECT_EQ(error.reason(), "STAGE_OUT_OF_STACK");
  EXPECT_EQ(error.limit(), "");
  EXPECT_EQ(error.fix().find("ulimit"), std::string::npos) << error.fix();
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
      child.Execute(Request([](auto& o) { o.mutable_partition(); }).request,
                    "forever", {.cancel_fd = cancel}, {});
  canceller.join();
  close(cancel);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(child.pid(), 0);
  EXPECT_NE(kill(pid, 0), 0) << "the process must be gone";
}

TEST(ChildProcessTest, DeadlineKills) {
  ChildProcess child(TestChild());
  const auto result = child.Execute(
      Request([](auto& o) { o.mutable_partition(); }).request, "forever",
      {.deadline = MessageChannel::Now() + absl::Milliseconds(200)}, {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(child.pid(), 0);
}

TEST(ChildProcessTest, ReportsProgress) {
  ChildProcess child(TestChild());
  std::vector<int64_t> seen;
  const auto result = child.Execute(
      Request([](auto& o) { o.mutable_calibrate(); }).request, "calibrate", {},
      {.supply = nullptr, .progress = [&](const v1::StageProgress& p) {
         seen.push_back(p.done());
       }});
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

TEST(ChildProcessTest, IsSentOnlyWhatItHasMadeNothingOfYet) {
  ChildProcess child(TestChild());
  std::vector<int> asked;
  auto result = Do(child, Interpret("g", "1"), &asked);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs(0).data(), "ready g.1");
  EXPECT_EQ(asked, (std::vector<int>{0, 1}));
  asked.clear();
  result = Do(child, Interpret("g", "2"), &asked);
  EXPECT_EQ(result->outputs(0).data(), "ready g..2");
  EXPECT_EQ(asked, (std::vector<int>{1}));
  asked.clear();
  result = Do(child, Interpret("h", "2"), &asked);
  EXPECT_EQ(result->outputs(0).data(), "ready h.2");
  EXPECT_EQ(asked, (std::vector<int>{0, 1}));
  // Another process knows nothing.
  kill(child.pid(), SIGKILL);
  asked.clear();
  while (!(result = Do(child, Interpret("g", "3"), &asked)).ok()) asked.clear();
  EXPECT_EQ(result->outputs(0).data(), "ready g.3");
  EXPECT_EQ(asked, (std::vector<int>{0, 1}));
}

TEST(ChildProcessTest, IsNotSentWhatItHasJustMade) {
  ChildProcess child(TestChild());
  ASSERT_TRUE(Do(child, Import("a")).ok());
  std::vector<int> asked;
  auto result = Do(child, Interpret("graph of a", "1"), &asked);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs(0).data(), "ready graph of a.1");
  EXPECT_EQ(asked, (std::vector<int>{1}));
  // Of the same role and size, but not it.
  ASSERT_TRUE(Do(child, Import("a")).ok());
  asked.clear();
  result = Do(child, Interpret("graph of b", "1"), &asked);
  EXPECT_EQ(result->outputs(0).data(), "ready graph of b.1");
  EXPECT_EQ(asked, (std::vector<int>{0, 1}));
  // Only the last stage's, and not much of it.
  const std::string large(KeptOutputs::kMaxBytes, 'm');
  ASSERT_TRUE(Do(child, Import("c")).ok());
  ASSERT_TRUE(Do(child, Import(large)).ok());
  for (const std::string& model : {std::string("c"), large}) {
    asked.clear();
    ASSERT_TRUE(Do(child, Interpret("graph of " + model, "1"), &asked).ok());
    EXPECT_EQ(asked, (std::vector<int>{0, 1})) << model.substr(0, 1);
  }
}

TEST(ChildProcessTest, AMissingInputIsSaidAsItIs) {
  ChildProcess child(TestChild());
  const auto result =
      child.Execute(Import("a").request, "import", {},
                    {.supply =
                         [](const std::vector<int>&) {
                           return absl::UnavailableError("the daemon has gone");
                         },
                     .progress = nullptr});
  EXPECT_EQ(result.status(), absl::UnavailableError("the daemon has gone"));
  EXPECT_EQ(child.pid(), 0) << "it waits for an answer that never comes";
  EXPECT_TRUE(Do(child, Import("a")).ok());
}

TEST(ChildProcessTest, AChildGetsNothingButItsInputs) {
  ChildProcess child(TestChild());
  std::vector<int> asked;
  Work work = Request([](auto& o) { o.mutable_synthesize_data(); });
  work.Add("graph", "g");
  const auto result = Do(child, work, &asked);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(asked, std::vector<int>());
  EXPECT_EQ(child.pid(), 0);
}

TEST(ChildProcessTest, WhatIsKeptMakesNoStageFail) {
  ChildProcess child(TestChild());
  const Work hungry = Request([](auto& o) { o.mutable_pack_outputs(); });
  ASSERT_TRUE(Do(child, Interpret("g", "1")).ok());
  const pid_t pid = child.pid();
  const auto result = Do(child, hungry);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->has_infra_error());
  EXPECT_EQ(child.pid(), pid);
  std::vector<int> asked;
  ASSERT_TRUE(Do(child, Interpret("g", "2"), &asked).ok());
  EXPECT_EQ(asked, (std::vector<int>{0, 1})) << "all was to be dropped";
}

TEST(ChildProcessTest, OutOfMemoryWithNothingKeptIsOne) {
  ChildProcess child(TestChild());
  const auto result =
      Do(child, Request([](auto& o) { o.mutable_pack_outputs(); }));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->result().error().reason(), "STAGE_OUT_OF_MEMORY");
}

TEST(ChildProcessTest, InheritsNoDescriptors) {
  const int leak = fcntl(STDERR_FILENO, F_DUPFD, 10);  // Without close-on-exec.
  ASSERT_GT(leak, kChildChannelFd);
  ChildProcess child(TestChild());
  const auto result =
      Do(child, Request([](auto& o) { o.mutable_resolve_target(); }));
  close(leak);
  ASSERT_TRUE(result.ok()) << result.status();
  // stdio, the channel, and the account of its memory.
  EXPECT_EQ(result->outputs(1).data(), "0 1 2 3 4 ");
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
