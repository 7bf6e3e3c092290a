#include "tests/chaos/honest_times.h"

#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"

namespace edgekiln::chaos {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

v1::JobEvent At(int ms) {
  v1::JobEvent event;
  *event.mutable_time() =
      google::protobuf::util::TimeUtil::MillisecondsToTimestamp(
          absl::ToUnixMillis(kStart) + ms);
  return event;
}

v1::JobEvent Started(int ms, const std::string& name) {
  v1::JobEvent event = At(ms);
  event.mutable_stage_started()->set_name(name);
  return event;
}

v1::JobEvent Finished(int ms, const std::string& name,
                      v1::Report::Stage::Cache cache, double cpu_seconds) {
  v1::JobEvent event = At(ms);
  event.mutable_stage_finished()->set_name(name);
  event.mutable_stage_finished()->set_cache(cache);
  event.mutable_stage_finished()->set_cpu_seconds(cpu_seconds);
  return event;
}

TEST(StageTimesTest, TellsWaitingFromWorking) {
  StageTimes stages(kStart + absl::Milliseconds(10));
  const v1::JobEvent events[] = {
      At(5),  // Before CreateJob had answered.
      Finished(20, "import", v1::Report::Stage::HIT, 9),
      Started(50, "tile"),
      Started(60, "check_fit"),
      Finished(65, "check_fit", v1::Report::Stage::MISS, 0.002),
      Finished(90, "tile", v1::Report::Stage::MISS, 0.008),
      At(100),
  };
  for (const v1::JobEvent& event : events) stages.OnEvent(event);
  HonestTimes times;
  stages.Get(kStart + absl::Milliseconds(130), times);
  EXPECT_EQ(times.wait, absl::Milliseconds(50));
  EXPECT_EQ(times.stages, absl::Milliseconds(40));
  EXPECT_EQ(times.stage_cpu, absl::Milliseconds(10));
  EXPECT_EQ(times.told, absl::Milliseconds(30));
}

TEST(HonestTimesTest, AddsUpAndDivides) {
  HonestTimes sum;
  for (int i = 1; i <= 3; ++i) {
    HonestTimes one;
    one.total = absl::Milliseconds(30 * i);
    one.prepare = absl::Milliseconds(i);
    one.create = absl::Milliseconds(2 * i);
    one.wait = absl::Milliseconds(3 * i);
    one.stages = absl::Milliseconds(4 * i);
    one.told = absl::Milliseconds(5 * i);
    one.fetch = absl::Milliseconds(6 * i);
    one.stage_cpu = absl::Milliseconds(7 * i);
    sum += one;
  }
  sum /= 3;
  EXPECT_EQ(TimesText(sum),
            "60 ms: prepare 2, create 4, wait 6, stages 8 (CPU 14), told 10, "
            "fetch 12");
}

}  // namespace
}  // namespace edgekiln::chaos
