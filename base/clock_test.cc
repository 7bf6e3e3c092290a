#include "base/clock.h"

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

TEST(FakeClockTest, MovesOnlyWhenTold) {
  const absl::Time start = absl::FromUnixSeconds(1000);
  FakeClock clock(start);
  EXPECT_EQ(clock.Now(), start);
  EXPECT_EQ(clock.Monotonic(), absl::ZeroDuration());
  clock.Advance(absl::Seconds(5));
  clock.SleepFor(absl::Seconds(2));
  clock.SleepFor(absl::Seconds(-9));
  EXPECT_EQ(clock.Now(), start + absl::Seconds(7));
  EXPECT_EQ(clock.Monotonic(), absl::Seconds(7));
}

TEST(RealClockTest, SleepsAtLeastThatLong) {
  const auto clock = NewRealClock();
  const absl::Duration before = clock->Monotonic();
  clock->SleepFor(absl::Milliseconds(2));
  EXPECT_GE(clock->Monotonic() - before, absl::Milliseconds(2));
  clock->SleepFor(-absl::InfiniteDuration());
  EXPECT_GT(clock->Now(),
            absl::FromCivil(absl::CivilDay(2020, 1, 1), absl::UTCTimeZone()));
}

}  // namespace
}  // namespace edgekiln
