#include "server/daemon/jobs/one_at_a_time.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// A job that cannot begin ends at once, in the thread that begins jobs.
TEST(OneAtATimeTest, AStepThatCallsAgainIsNotNested) {
  OneAtATime steps;
  int left = 100'000;
  int depth = 0;
  int deepest = 0;
  std::function<bool()> step = [&] {
    if (left == 0) return false;
    --left;
    deepest = std::max(deepest, ++depth);
    steps.Run(step);
    --depth;
    return true;
  };
  steps.Run(step);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(deepest, 1);
}

TEST(OneAtATimeTest, NothingThatWasAskedForIsForgotten) {
  OneAtATime steps;
  std::atomic<int> wanted = 0;
  int done = 0;  // Of one thread at a time.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        ++wanted;
        steps.Run([&] {
          if (done == wanted.load()) return false;
          ++done;
          return true;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 4000);
}

}  // namespace
}  // namespace edgekiln::server
