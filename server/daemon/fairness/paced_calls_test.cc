#include "server/daemon/fairness/paced_calls.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

absl::Duration CpuTime() {
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

void Compute(absl::Duration length) {
  const absl::Duration end = CpuTime() + length;
  while (CpuTime() < end) {
  }
}

TEST(PacedCallsTest, PausesInProportionToWhatTheLastOneTook) {
  PacedCalls calls(/*share=*/0.2, /*max_waiting=*/4);
  EXPECT_TRUE(calls.Run("a", [] { Compute(absl::Milliseconds(20)); }));
  const absl::Time ended = absl::Now();
  absl::Time began;
  EXPECT_TRUE(calls.Run("a", [&] { began = absl::Now(); }));
  EXPECT_GE(began - ended, absl::Milliseconds(75));
}

TEST(PacedCallsTest, RunsOneAtATime) {
  PacedCalls calls(/*share=*/0.5, /*max_waiting=*/16);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(calls.Run("a", [&] {
        most = std::max<int>(most, ++running);
        Compute(absl::Milliseconds(1));
        --running;
        ++ran;
      }));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(ran, 8);
}

TEST(PacedCallsTest, FewWaitAndHalfOfThemOfOneClient) {
  PacedCalls calls(/*share=*/0.5, /*max_waiting=*/4);
  std::atomic<bool> begun = false;
  std::atomic<bool> release = false;
  std::atomic<int> refused = 0;
  std::atomic<int> ran = 0;
  std::thread holds([&] {
    calls.Run("a", [&] {
      begun = true;
      while (!release) absl::SleepFor(absl::Milliseconds(1));
    });
  });
  while (!begun) absl::SleepFor(absl::Milliseconds(1));
  std::vector<std::thread> threads;
  const auto ask = [&](const std::string& client) {
    threads.emplace_back(
        [&, client] { ++(calls.Run(client, [] {}) ? ran : refused); });
  };
  const auto await_refusals = [&](int count) {
    while (refused < count) absl::SleepFor(absl::Milliseconds(1));
  };
  for (int i = 0; i < 5; ++i) ask("a");
  await_refusals(3);  // Two of them wait.
  for (int i = 0; i < 3; ++i) ask("b");
  await_refusals(4);
  ask("c");  // There is no room for anybody.
  await_refusals(5);
  release = true;
  holds.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(ran, 4);
}

}  // namespace
}  // namespace edgekiln::server
