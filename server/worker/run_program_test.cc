#include "server/worker/run_program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

ProgramRun Shell(const std::string& script) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"}};
}

TEST(RunProgramTest, TellsHowItEnded) {
  ProgramRun run = Shell("echo out; echo err >&2; exit 3");
  for (const bool in_callers_group : {false, true}) {
    run.time_limit = absl::Seconds(60);
    run.in_callers_group = in_callers_group;
    const auto end = RunProgram(run);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->exit_code, 3);
    EXPECT_EQ(end->output, "out\n");
    EXPECT_EQ(end->errors, "err\n");
    EXPECT_EQ(EndText(*end, run), "exit code 3");
  }
}

// What is over its limit, and its children, are killed only where it has a
// group of its own.
TEST(RunProgramTest, TimeIsLimited) {
  for (const bool in_callers_group : {false, true}) {
    ProgramRun run = Shell("sleep 1000 & echo $!; wait");
    run.time_limit = absl::Milliseconds(300);
    run.in_callers_group = in_callers_group;
    const auto end = RunProgram(run);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_TRUE(end->timed_out);
    EXPECT_EQ(EndText(*end, run), "more than 300ms");
    pid_t sleeper = 0;
    ASSERT_TRUE(absl::SimpleAtoi(end->output.substr(0, end->output.find('\n')),
                                 &sleeper))
        << end->output;
    EXPECT_EQ(getpgid(sleeper) == getpgrp(), in_callers_group);
    if (in_callers_group) kill(sleeper, SIGKILL);
    // The shell of the second one.
    while (waitpid(0, nullptr, WNOHANG) == 0) usleep(1000);
  }
}

}  // namespace
}  // namespace edgekiln::server
