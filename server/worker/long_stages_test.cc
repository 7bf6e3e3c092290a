#include "server/worker/long_stages.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/scoped_fd.h"
#include "gtest/gtest.h"
#include "server/worker/child_process.h"
#include "server/worker/cpu_priority.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/testing/crowded_processor.h"
#include "server/worker/testing/test_child.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

constexpr LongStages::Times kQuick = {
    .is_short = absl::Milliseconds(10),
    .is_long = absl::Milliseconds(20),
    .look_every = absl::Milliseconds(5),
};

// A process that computes until it is stopped, or one that never does. Ends
// with the thread that made it.
class Process {
 public:
  explicit Process(bool computes) : pid_(fork()) {
    if (pid_ < 0) abort();  // kill(-1) ends every process of the user.
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    volatile bool wants = computes;
    while (true) {
      if (!wants) pause();
    }
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

int NiceOf(pid_t pid) {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
}

// What `nice` becomes where the test itself has a lower priority.
int Lowered(int nice) { return std::max(nice, NiceOf(0)); }

// Whether it becomes that within a minute.
bool Becomes(pid_t pid, int nice) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (NiceOf(pid) != Lowered(nice)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Stages must be watched.
void AwaitLooks(LongStages& stages) {
  const int64_t end = stages.looks() + 3;
  while (stages.looks() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

absl::Duration UsedBy(pid_t pid) {
  clockid_t clock = 0;
  timespec used = {};
  EXPECT_EQ(clock_getcpuclockid(pid, &clock), 0);
  EXPECT_EQ(clock_gettime(clock, &used), 0);
  return absl::DurationFromTimespec(used);
}

// Until its stage is long, if it is watched, and was looked at.
void AwaitLong(pid_t pid, LongStages& stages) {
  AwaitLooks(stages);
  const absl::Duration end = UsedBy(pid) + 2 * kQuick.is_long;
  while (UsedBy(pid) < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  AwaitLooks(stages);
}

class LongStagesTest : public testing::Test {
 protected:
  void SetUp() override {
    // It takes CAP_SYS_NICE or RLIMIT_NICE, which a test cannot give itself;
    // without them a LeaseExecutor makes no LongStages, see its test.
    if (!MayRaisePriority()) {
      GTEST_SKIP() << "this user may not raise priorities";
    }
  }

  LongStages stages_{kQuick};
  const int own_ = NiceOf(0);
  const Process idle_{false};
};

TEST_F(LongStagesTest, WhoComputesForLongGivesWay) {
  const Process computes(true);
  {
    const LongStages::Watched one(&stages_, computes.pid(), absl::Minutes(9));
    const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
    EXPECT_TRUE(Becomes(computes.pid(), kLongStageNice));
    AwaitLooks(stages_);
    EXPECT_EQ(NiceOf(idle_.pid()), own_);
  }
  EXPECT_EQ(NiceOf(computes.pid()), Lowered(kStageNice));
  EXPECT_EQ(NiceOf(idle_.pid()), own_);
}

TEST_F(LongStagesTest, WhoHasJustBegunGoesFirst) {
  const Process fresh(false);
  SetNice(fresh.pid(), kStageNice);
  SetNice(idle_.pid(), kStageNice);
  const LongStages::Watched one(&stages_, fresh.pid(), absl::Minutes(9));
  EXPECT_EQ(NiceOf(fresh.pid()), Lowered(kShortStageNice));
  AwaitLooks(stages_);
  const Process computes(true);
  const LongStages::Watched other(&stages_, computes.pid(), absl::Minutes(9));
  EXPECT_TRUE(Becomes(computes.pid(), kStageNice));
  EXPECT_EQ(NiceOf(fresh.pid()), Lowered(kShortStageNice));
  EXPECT_EQ(NiceOf(idle_.pid()), Lowered(kStageNice));
}

// There may be others on the machine that are not ours.
TEST_F(LongStagesTest, WhoIsAloneGivesWayToNobody) {
  const Process computes(true);
  const LongStages::Watched one(&stages_, computes.pid(), absl::Minutes(9));
  AwaitLong(computes.pid(), stages_);
  EXPECT_EQ(NiceOf(computes.pid()), Lowered(kStageNice));
  {
    // Without delay: most stages take less time than passes between looks.
    const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
    EXPECT_EQ(NiceOf(computes.pid()), Lowered(kLongStageNice));
    AwaitLooks(stages_);
    EXPECT_EQ(NiceOf(computes.pid()), Lowered(kLongStageNice));
  }
  EXPECT_TRUE(Becomes(computes.pid(), kStageNice));
}

TEST_F(LongStagesTest, LongStagesDoNotGiveWayToEachOther) {
  const Process first(true);
  const Process second(true);
  const LongStages::Watched one(&stages_, first.pid(), absl::Minutes(9));
  const LongStages::Watched other(&stages_, second.pid(), absl::Minutes(9));
  AwaitLong(first.pid(), stages_);
  AwaitLong(second.pid(), stages_);
  EXPECT_LE(NiceOf(first.pid()), Lowered(kStageNice));
  EXPECT_LE(NiceOf(second.pid()), Lowered(kStageNice));
}

TEST_F(LongStagesTest, SomeAreNotLowered) {
  const Process stage(true);
  const Process exempt(true);
  const LongStages::Watched one(&stages_, stage.pid(), absl::Minutes(9));
  const LongStages::Watched other(&stages_, exempt.pid(), absl::Minutes(9),
                                  /*may_be_lowered=*/false);
  AwaitLong(exempt.pid(), stages_);
  EXPECT_EQ(NiceOf(exempt.pid()), own_);
  EXPECT_TRUE(Becomes(stage.pid(), kLongStageNice));
}

TEST_F(LongStagesTest, WhatAProcessDidBeforeDoesNotCount) {
  const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
  const Process process(true);
  {
    const LongStages::Watched first(&stages_, process.pid(), absl::Minutes(9));
    EXPECT_TRUE(Becomes(process.pid(), kLongStageNice));
  }
  kill(process.pid(), SIGSTOP);
  int status = 0;
  waitpid(process.pid(), &status, WUNTRACED);
  const LongStages::Watched second(&stages_, process.pid(), absl::Minutes(9));
  AwaitLooks(stages_);
  EXPECT_EQ(NiceOf(process.pid()), Lowered(kShortStageNice));
}

TEST_F(LongStagesTest, WhoWaitsForTooLongGivesWayNoLonger) {
  if (!std::ifstream("/proc/self/schedstat").good()) {
    EK_SKIP("the kernel does not say how long threads wait (schedstat)");
  }
  CrowdedProcessor processor;
  const Process process(true);
  processor.Crowd();
  const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
  const LongStages::Watched watched(&stages_, process.pid(),
                                    absl::Milliseconds(400));
  EXPECT_TRUE(Becomes(process.pid(), kLongStageNice));
  EXPECT_TRUE(Becomes(process.pid(), kStageNice));
  AwaitLooks(stages_);
  EXPECT_EQ(NiceOf(process.pid()), Lowered(kStageNice));
}

// Between stages the thread sleeps after a while.
TEST_F(LongStagesTest, AStageAfterARestIsSeen) {
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const Process computes(true);
  const LongStages::Watched watched(&stages_, computes.pid(), absl::Minutes(9));
  const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
  EXPECT_TRUE(Becomes(computes.pid(), kLongStageNice));
}

// A worker that was started with a lower priority keeps it for its stages.
TEST_F(LongStagesTest, NobodyGetsAHigherPriorityThanTheWorker) {
  std::thread([] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 17);
    const Process process(false);
    for (const int nice : {kStageNice, kLongStageNice, kBackgroundNice}) {
      SetNice(process.pid(), nice);
      EXPECT_GE(NiceOf(process.pid()), 17);
    }
    SetNice(process.pid(), 18);
    EXPECT_GE(NiceOf(process.pid()), 18);
  }).join();
}

TEST_F(LongStagesTest, ChildrenAreWatchedUnlessTheyAreInTheBackground) {
  const LongStages::Watched other(&stages_, idle_.pid(), absl::Minutes(9));
  ChildOptions options = TestChild();
  options.long_stages = &stages_;
  ChildProcess child(options);
  const auto let = [&child](Attempt attempt, int cancel_fd) {
    v1::ChildRequest request;
    request.mutable_options()->mutable_convert_data()->set_limit(
        static_cast<int64_t>(attempt));
    MessageChannel::Limits limits;
    limits.cancel_fd = cancel_fd;
    return child.Execute(request, "some_stage", limits, {}).status();
  };
  for (const bool background : {false, true}) {
    child.SetBackground(background);
    const ScopedFd cancel(eventfd(0, EFD_CLOEXEC));
    ASSERT_TRUE(let(Attempt::kEnvironment, cancel.get()).ok());
    const pid_t pid = child.pid();
    std::thread executes([&] { (void)let(Attempt::kBurn, cancel.get()); });
    if (background) {
      AwaitLong(pid, stages_);
      EXPECT_EQ(NiceOf(pid), Lowered(kBackgroundNice));
    } else {
      EXPECT_TRUE(Becomes(pid, kLongStageNice));
    }
    (void)eventfd_write(cancel.get(), 1);
    executes.join();
  }
}

TEST_F(LongStagesTest, BuildersAreNotLoweredAndOthersGiveWayToThem) {
  const auto place = *ScratchFolder::Make(TemporaryFolder(), "long-stages-");
  const Process computes(true);
  const LongStages::Watched other(&stages_, computes.pid(), absl::Minutes(9));
  AwaitLong(computes.pid(), stages_);
  EXPECT_EQ(NiceOf(computes.pid()), Lowered(kStageNice));
  ChildOptions options = TestChild();
  options.scratch_parent = place->path();
  options.long_stages = &stages_;
  ChildProcess builder(options);
  v1::ChildRequest request;
  v1::ConvertDataOptions& stage =
      *request.mutable_options()->mutable_convert_data();
  stage.set_limit(static_cast<int64_t>(Attempt::kEnvironment));
  ASSERT_TRUE(builder.Execute(request, "some_stage", {}, {}).ok());
  const pid_t pid = builder.pid();
  stage.set_limit(static_cast<int64_t>(Attempt::kBurn));
  const ScopedFd cancel(eventfd(0, EFD_CLOEXEC));
  MessageChannel::Limits limits;
  limits.cancel_fd = cancel.get();
  std::thread executes(
      [&] { (void)builder.Execute(request, "some_stage", limits, {}); });
  AwaitLong(pid, stages_);
  EXPECT_EQ(NiceOf(pid), Lowered(kStageNice));
  EXPECT_TRUE(Becomes(computes.pid(), kLongStageNice));
  (void)eventfd_write(cancel.get(), 1);
  executes.join();
}

}  // namespace
}  // namespace edgekiln::server
