#include "server/daemon/stages/stage_counts.h"

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(StageCountsTest, ChunksOfAStageAreOneName) {
  StageCounts counts;
  v1::DaemonStatus::Stage executed;
  executed.set_executed(1);
  executed.set_cpu_seconds(1.5);
  executed.set_wall_seconds(2);
  counts.Add("simulate[0]", executed);
  executed.set_joined(2);
  counts.Add("simulate[1]", executed);
  v1::DaemonStatus::Stage hit;
  hit.set_hit(3);
  hit.set_failed(1);
  counts.Add("emit", hit);
  v1::DaemonStatus status;
  counts.AppendTo(status);
  ASSERT_EQ(status.stages_size(), 2);
  EXPECT_EQ(status.stages(0).ShortDebugString(),
            "name: \"emit\" hit: 3 failed: 1");
  EXPECT_EQ(status.stages(1).ShortDebugString(),
            "name: \"simulate\" executed: 2 joined: 2 cpu_seconds: 3 "
            "wall_seconds: 4");
}

}  // namespace
}  // namespace edgekiln::server
