#include "server/daemon/http/json_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(JsonThreadTest, DoesAllInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    JsonThread thread;
    for (int i = 0; i < 100; ++i) {
      thread.Post(JsonWork::kParse, [&done, i] {
        usleep(100);
        done.push_back(i);
      });
    }
  }
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(JsonThreadTest, AnswersDoNotWaitForAllRequests) {
  std::vector<int> done;
  {
    JsonThread thread;
    std::promise<void> has_begun;
    std::promise<void> may_end;
    thread.Post(JsonWork::kParse, [&] {
      has_begun.set_value();
      may_end.get_future().wait();
    });
    has_begun.get_future().wait();
    for (const int i : {0, 2, 4, 6, 7}) {
      thread.Post(JsonWork::kWrite, [&done, i] { done.push_back(i); });
    }
    for (const int i : {1, 3, 5}) {
      thread.Post(JsonWork::kParse, [&done, i] { done.push_back(i); });
    }
    may_end.set_value();
  }
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

int OwnNice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

// Of a JsonThread that the calling thread makes.
int NiceOfWork() {
  std::atomic<int> nice{-100};
  {
    JsonThread thread;
    thread.Post(JsonWork::kParse, [&nice] { nice = OwnNice(); });
  }
  return nice;
}

TEST(JsonThreadTest, GivesWayToOtherThreads) {
  const int own = OwnNice();
  EXPECT_EQ(NiceOfWork(), std::max(own, 10));
  EXPECT_EQ(OwnNice(), own);
}

// Also where the user may raise it.
TEST(JsonThreadTest, HasNoHigherPriorityThanItsMaker) {
  int nice = 0;
  std::thread([&nice] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 17);
    nice = NiceOfWork();
  }).join();
  EXPECT_GE(nice, 17);
}

}  // namespace
}  // namespace edgekiln::server
