#include "server/daemon/farm/slot_holds.h"

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

class SlotHoldsTest : public testing::Test {
 protected:
  void End(uint64_t lease, v1::JobClass job_class, bool others_wait = true) {
    holds_.Ended(lease, job_class, others_wait, limits_, now_);
  }

  const HoldLimits limits_{.time = absl::Milliseconds(100), .in_a_row = 2};
  SlotHolds holds_;
  absl::Duration now_ = absl::Seconds(1);
};

TEST_F(SlotHoldsTest, EachSlotIsHeldAgainstLaterClassesForAWhile) {
  End(1, v1::INTERACTIVE);
  End(2, v1::CI);
  EXPECT_EQ(holds_.Against(v1::INTERACTIVE, now_), 0);
  EXPECT_EQ(holds_.Against(v1::CI, now_), 1);
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 2);
  now_ += limits_.time;
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 0);
}

TEST_F(SlotHoldsTest, TheNextStageTakesItsOwnSlot) {
  End(1, v1::INTERACTIVE);
  End(2, v1::CI);
  holds_.Given(3, v1::CI, /*free=*/3, now_);
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 1);
  holds_.Given(4, v1::BATCH, /*free=*/2, now_);  // That which nobody holds.
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 1);
  End(5, v1::CI);
  // No slot is left but those that are held for later classes.
  holds_.Given(6, v1::INTERACTIVE, /*free=*/2, now_);
  holds_.Given(7, v1::INTERACTIVE, /*free=*/1, now_);
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 0);
}

TEST_F(SlotHoldsTest, ASlotIsHeldOnlySoOftenWhileOthersWait) {
  End(1, v1::CI);
  for (const uint64_t lease : {2, 3}) {
    EXPECT_EQ(holds_.Against(v1::BATCH, now_), 1);
    holds_.Given(lease, v1::CI, /*free=*/1, now_);
    End(lease, v1::CI);
  }
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 0);
  // A lease elsewhere on that worker begins anew, and so does one that nobody
  // waits behind.
  holds_.Given(4, v1::BATCH, /*free=*/1, now_);
  End(4, v1::CI);
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 1);
  holds_.Given(5, v1::CI, /*free=*/1, now_);
  End(5, v1::CI, /*others_wait=*/false);
  EXPECT_EQ(holds_.Against(v1::BATCH, now_), 1);
}

}  // namespace
}  // namespace edgekiln::server
