#include "tests/chaos/cpu_account.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace edgekiln::chaos {
namespace {

constexpr absl::Duration kWork = absl::Milliseconds(200);
// Two ticks of the kernel.
constexpr absl::Duration kGrain = absl::Milliseconds(20);

absl::Duration Used() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

void Compute(absl::Duration length) {
  const absl::Duration end = Used() + length;
  while (Used() < end) {
  }
}

// A process that computes and then waits; of its own: what it starts itself.
class Computing {
 public:
  Computing() {
    EXPECT_EQ(pipe(pipe_), 0);
    process_ = fork();
    if (process_ != 0) return;
    Compute(kWork);
    const char done = 1;
    static_cast<void>(write(pipe_[1], &done, 1));
    while (true) pause();
  }
  ~Computing() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(pipe_[0]);
    close(pipe_[1]);
  }
  void Await() const {
    char byte = 0;
    EXPECT_EQ(read(pipe_[0], &byte, 1), 1);
  }
  pid_t process() const { return process_; }

 private:
  int pipe_[2] = {-1, -1};
  pid_t process_ = 0;
};

TEST(CpuAccountTest, CountsFromTheFirstLook) {
  Compute(kWork);
  CpuAccount account;
  account.Look("we", {getpid()});
  EXPECT_EQ(account.UsedByGroup()["we"], absl::ZeroDuration());
  Compute(kWork);
  account.Look("we", {getpid()});
  EXPECT_GE(account.UsedByGroup()["we"], kWork - kGrain);
  EXPECT_LT(account.UsedByGroup()["we"], 2 * kWork);
}

TEST(CpuAccountTest, CountsAllOfWhatBeginsLater) {
  CpuAccount account;
  account.Look("others", {});
  account.LookBelow("below", {getpid()});
  const Computing one;
  one.Await();
  account.Look("others", {one.process()});
  account.LookBelow("below", {getpid()});
  EXPECT_GE(account.UsedByGroup()["below"], kWork - kGrain);
  EXPECT_GE(account.UsedByGroup()["others"], kWork - kGrain);
}

TEST(CpuAccountTest, KeepsWhatHasEnded) {
  CpuAccount account;
  account.LookBelow("below", {getpid()});
  {
    const Computing one;
    one.Await();
    account.LookBelow("below", {getpid()});
  }
  // What was waited for counts for whoever waited, and is not counted twice.
  account.LookBelow("below", {getpid()});
  const absl::Duration used = account.UsedByGroup()["below"];
  EXPECT_GE(used, kWork - kGrain);
  EXPECT_LT(used, 2 * kWork - kGrain);
}

TEST(CpuAccountTest, AllHaveUsedWhatOneHas) {
  const absl::Duration before = CpuTimeOfAll();
  Compute(kWork);
  EXPECT_GE(CpuTimeOfAll() - before, kWork - 2 * kGrain);
}

TEST(CpuAccountTest, NobodyHasUsedNothing) {
  EXPECT_EQ(CpuTimeOf(0).own, absl::ZeroDuration());
}

}  // namespace
}  // namespace edgekiln::chaos
