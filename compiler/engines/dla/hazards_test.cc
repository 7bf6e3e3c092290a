#include "compiler/engines/dla/hazards.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

using ::testing::ElementsAre;

ScheduledCommand Access(DlaCommand command, std::vector<BufferAccess> touched) {
  ScheduledCommand scheduled;
  scheduled.command = command;
  scheduled.accesses.assign(touched.begin(), touched.end());
  return scheduled;
}

// Two buffers of 10 bytes, loaded, computed from, stored.
TEST(WaitCountsTest, OrdersOnlyWhatMeets) {
  Schedule schedule;
  schedule.commands = {
      Access(DlaCommand::kDmaRead, {{0, true, 0, 10}}),
      Access(DlaCommand::kDmaRead, {{1, true, 0, 10}}),
      // Reads the first buffer only: must not wait for the second load.
      Access(DlaCommand::kConv, {{0, false, 0, 10}, {2, true, 0, 10}}),
      Access(DlaCommand::kConv, {{1, false, 0, 10}, {3, true, 0, 10}}),
      Access(DlaCommand::kDmaWrite, {{2, false, 0, 10}}),
  };
  const std::vector<int64_t> apart = {0, 10, 20, 30};
  EXPECT_THAT(WaitCounts(schedule, apart), ElementsAre(0, 0, 1, 2, 1));
}

TEST(WaitCountsTest, ReusingMemoryWaitsForItsReader) {
  Schedule schedule;
  schedule.commands = {
      Access(DlaCommand::kDmaRead, {{0, true, 0, 10}}),
      Access(DlaCommand::kConv, {{0, false, 0, 10}, {1, true, 0, 10}}),
      // Another buffer at the first one's place: write after read.
      Access(DlaCommand::kDmaRead, {{2, true, 0, 10}}),
  };
  EXPECT_THAT(WaitCounts(schedule, std::vector<int64_t>{0, 10, 0}),
              ElementsAre(0, 1, 1));
  EXPECT_THAT(WaitCounts(schedule, std::vector<int64_t>{0, 10, 20}),
              ElementsAre(0, 1, 0));
}

TEST(WaitCountsTest, TwoReadersDoNotConflict) {
  Schedule schedule;
  schedule.commands = {
      Access(DlaCommand::kConv, {{0, false, 0, 10}}),
      Access(DlaCommand::kDmaWrite, {{0, false, 0, 10}}),
  };
  EXPECT_THAT(WaitCounts(schedule, std::vector<int64_t>{0}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace edgekiln::compiler::dla
