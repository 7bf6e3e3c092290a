#include "server/daemon/net/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(DescriptorLimitTest, RaisesTheSoftLimitToTheHardOne) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(DescriptorLimit(), 100);
  const int64_t raised = RaiseDescriptorLimit();
  EXPECT_EQ(raised, DescriptorLimit());
  EXPECT_EQ(raised,
            static_cast<int64_t>(std::min<rlim_t>(before.rlim_max, 65'536)));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(DescriptorLimitTest, ConnectionsLeaveDescriptorsForTheRest) {
  const struct {
    int max_connections;
    int64_t descriptors;
    int clients;
    int workers;
  } kCases[] = {
      {512, 65'536, 384, 128}, {512, 1024, 360, 120}, {512, 256, 72, 24},
      {16, 1024, 12, 4},       {512, 10, 6, 2},
  };
  for (const auto& c : kCases) {
    const ConnectionBudget budget =
        ShareConnections(c.max_connections, c.descriptors);
    EXPECT_EQ(budget.clients.max_connections, c.clients) << c.descriptors;
    EXPECT_EQ(budget.workers.max_connections, c.workers) << c.descriptors;
    EXPECT_LT(budget.clients.max_per_peer, budget.clients.max_connections);
    EXPECT_GT(budget.workers.max_per_peer, 0);
    if (c.descriptors < 256) continue;
    EXPECT_LE(budget.clients.max_connections + budget.clients.max_pending +
                  budget.workers.max_connections + budget.workers.max_pending,
              c.descriptors * 2 / 3);
  }
}

// Those of workers and of clients are set aside from each other as well.
TEST(DescriptorLimitTest, ConnectionsThatHaveNotGreetedHaveWhatIsLeft) {
  const struct {
    int64_t descriptors;
    int clients;
    int workers;
  } kCases[] = {{65'536, 384, 128}, {1024, 152, 50}, {10, 8, 8}};
  for (const auto& c : kCases) {
    const ConnectionBudget budget = ShareConnections(512, c.descriptors);
    EXPECT_EQ(budget.clients.max_pending, c.clients) << c.descriptors;
    EXPECT_EQ(budget.workers.max_pending, c.workers) << c.descriptors;
  }
}

}  // namespace
}  // namespace edgekiln::server
