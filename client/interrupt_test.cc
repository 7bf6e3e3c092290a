#include "client/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

namespace edgekiln::client {
namespace {

constexpr int kGoesOn = 2;

// As a program that is started at a terminal: under nohup, this one ignores
// SIGHUP.
void Start() {
  signal(SIGHUP, SIG_DFL);
  InstallInterruptHandlers(false);
}

struct One {
  int signal;
  int exit_code;
};

class OneInterruptDeathTest : public testing::TestWithParam<One> {};

TEST_P(OneInterruptDeathTest, LeavesAtOnceWithoutAnInterrupt) {
  EXPECT_EXIT(
      {
        Start();
        raise(GetParam().signal);
        _exit(kGoesOn);
      },
      testing::ExitedWithCode(GetParam().exit_code), "");
}

TEST_P(OneInterruptDeathTest, IsNotedByAnInterrupt) {
  EXPECT_EXIT(
      {
        Start();
        const Interrupt interrupt;
        raise(GetParam().signal);
        _exit(interrupt.requested() ? InterruptedExitCode() : kGoesOn);
      },
      testing::ExitedWithCode(GetParam().exit_code), "");
}

INSTANTIATE_TEST_SUITE_P(All, OneInterruptDeathTest,
                         testing::ValuesIn(std::initializer_list<One>{
                             {SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}}),
                         [](const auto& info) {
                           return std::to_string(info.param.exit_code);
                         });

struct Two {
  const char* name;
  int first;
  int second;
  bool leaves;
  int exit_code;  // Of the first.
};

class TwoInterruptsDeathTest : public testing::TestWithParam<Two> {};

TEST_P(TwoInterruptsDeathTest, TheFirstDecidesTheExitCode) {
  EXPECT_EXIT(
      {
        Start();
        const Interrupt interrupt;
        raise(GetParam().first);
        raise(GetParam().second);
        _exit(kGoesOn + InterruptedExitCode());
      },
      testing::ExitedWithCode(GetParam().exit_code +
                              (GetParam().leaves ? 0 : kGoesOn)),
      "");
}

INSTANTIATE_TEST_SUITE_P(All, TwoInterruptsDeathTest,
                         testing::ValuesIn(std::initializer_list<Two>{
                             {"IntInt", SIGINT, SIGINT, true, 130},
                             {"TermInt", SIGTERM, SIGINT, true, 143},
                             {"IntTerm", SIGINT, SIGTERM, true, 130},
                             {"HangupTerm", SIGHUP, SIGTERM, true, 129},
                             {"HangupHangup", SIGHUP, SIGHUP, false, 129},
                             {"IntHangup", SIGINT, SIGHUP, false, 130}}),
                         [](const auto& info) { return info.param.name; });

// nohup.
TEST(InterruptHangupDeathTest, StaysIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);
        InstallInterruptHandlers(false);
        const Interrupt interrupt;
        raise(SIGHUP);
        _exit(interrupt.requested() ? 1 : kGoesOn);
      },
      testing::ExitedWithCode(kGoesOn), "");
}

}  // namespace
}  // namespace edgekiln::client
