#include "server/daemon/farm/action_queue.h"

#include <future>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(ActionQueueTest, ActionsOfOneKeyRunInTheirOrder) {
  std::vector<int> order;
  {
    ActionQueue queue(4);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(queue.Post(7, [&order, i] { order.push_back(i); }));
    }
  }
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

// One that takes its time delays those of its key and no others, whatever the
// keys.
TEST(ActionQueueTest, ALongActionDelaysNoOtherKey) {
  ActionQueue queue(2);
  std::promise<void> go_on;
  ASSERT_TRUE(queue.Post(0, [&] { go_on.get_future().wait(); }));
  bool after = false;
  ASSERT_TRUE(queue.Post(0, [&] { after = true; }));
  std::vector<std::promise<void>> others(64);
  for (size_t i = 0; i < others.size(); ++i) {
    ASSERT_TRUE(queue.Post(i + 1, [&others, i] { others[i].set_value(); }));
  }
  for (std::promise<void>& other : others) other.get_future().wait();
  EXPECT_FALSE(after);
  go_on.set_value();
  queue.Stop();
  EXPECT_TRUE(after);
  EXPECT_EQ(queue.Pending(), 0);
  EXPECT_FALSE(queue.Post(1, [] {}));
}

// A thousand leases of a cancelled BATCH job do not delay another's result.
TEST(ActionQueueTest, TheBackgroundWaitsForTheRest) {
  std::string order;
  {
    ActionQueue queue(1);
    std::promise<void> runs;
    std::promise<void> go_on;
    ASSERT_TRUE(queue.Post(0, [&] {
      runs.set_value();
      go_on.get_future().wait();
    }));
    runs.get_future().wait();
    const auto post = [&](uint64_t key, char name, bool background) {
      ASSERT_TRUE(queue.Post(
          key, [&order, name] { order += name; }, background));
    };
    for (uint64_t key = 1; key <= 3; ++key) post(key, 'A', true);
    post(0, 'B', true);  // Of a key that runs.
    for (uint64_t key = 11; key <= 14; ++key) post(key, '1', false);
    post(11, 'x', true);  // Comes after its key's first.
    post(3, 'y', false);  // Takes what waits of its key along.
    go_on.set_value();
  }
  EXPECT_EQ(order, "111A1AxAyB");
}

}  // namespace
}  // namespace edgekiln::server
