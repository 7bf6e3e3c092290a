#include "tests/chaos/process_usage.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace edgekiln::chaos {
namespace {

TEST(ProcessUsageTest, CountsDescriptors) {
  const auto before = UsageOf(getpid());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_GT(before->rss_bytes, 0);
  EXPECT_GE(before->threads, 1);
  std::vector<int> open_files;
  for (int i = 0; i < 10; ++i) {
    open_files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  const auto during = UsageOf(getpid());
  for (const int fd : open_files) close(fd);
  ASSERT_TRUE(during.ok()) << during.status();
  EXPECT_EQ(during->descriptors, before->descriptors + 10);
}

TEST(ProcessUsageTest, KnowsWhoHasEnded) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  // Ended, but not waited for: there is a process, which holds nothing.
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT),
            0);
  EXPECT_TRUE(absl::IsNotFound(UsageOf(child).status()));
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(absl::IsNotFound(UsageOf(child).status()));
}

TEST(ProcessUsageTest, AddsUpDescendants) {
  int64_t alone = RssOfTrees({getpid()});
  EXPECT_GT(alone, 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // As much as nothing else in this program has.
    std::vector<char> memory(size_t{64} << 20, 'x');
    static_cast<void>(write(ready[1], memory.data(), 1));
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_GT(RssOfTrees({getpid()}), alone + (int64_t{60} << 20));
  EXPECT_GT(RssOfTrees({child}), int64_t{60} << 20);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(RssOfTrees({child}), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(ProcessUsageTest, RemembersThePeak) {
  PeakUsage usage(getpid());
  while (usage.peak().descriptors == 0) absl::SleepFor(absl::Milliseconds(5));
  const int before = usage.peak().descriptors;
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The listing has a descriptor itself, in each sample alike.
  while (usage.peak().descriptors <= before) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  close(fd);
  while (usage.now().descriptors > before) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(usage.peak().descriptors, before + 1);
}

}  // namespace
}  // namespace edgekiln::chaos
