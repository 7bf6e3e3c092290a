#include "client/render/event_line.h"

#include <gtest/gtest.h>

#include <string>

namespace edgekiln::client {
namespace {

class EventLineTest : public testing::Test {
 protected:
  EventLineTest() {
    request_.add_targets()->set_name("toy-array");
    request_.add_targets()->set_name("dla\x1b");
  }

  // Without the time.
  std::string Line(v1::JobEvent event) {
    event.mutable_time()->set_seconds(1);
    event.mutable_time()->set_nanos(2'000'000);
    const std::string line =
        EventLine(event, request_, absl::UTCTimeZone(), Style::Plain());
    constexpr char kTime[] = "1970-01-01 00:00:01.002  ";
    EXPECT_TRUE(line.empty() || line.rfind(kTime, 0) == 0) << line;
    return line.empty() ? "" : line.substr(sizeof(kTime) - 1);
  }

  v1::CreateJobRequest request_;
};

TEST_F(EventLineTest, TellsEveryKindOfEvent) {
  v1::JobEvent event;
  event.set_state(v1::SUCCEEDED);
  EXPECT_EQ(Line(event), "succeeded\n");
  event.mutable_stage_started()->set_name("tile");
  event.mutable_stage_started()->set_target(1);
  EXPECT_EQ(Line(event), "tile on dla?  started\n");
  event.mutable_stage_started()->set_target(-1);
  EXPECT_EQ(Line(event), "tile  started\n");
  event.mutable_stage_finished()->set_name("tile");
  event.mutable_stage_finished()->set_cache(v1::Report::Stage::MISS);
  event.mutable_stage_finished()->set_seconds(0.25);
  EXPECT_EQ(Line(event), "tile  MISS  250 ms\n");
  event.mutable_waiting()->set_reason("no worker");
  EXPECT_EQ(Line(event), "waiting: no worker\n");
  event.mutable_error()->set_what("it broke");
  EXPECT_EQ(Line(event), "error: it broke\n");
  event.mutable_counted()->mutable_report()->set_target_name("toy-array");
  EXPECT_NE(Line(event).find("on toy-array: 0 cycles"), std::string::npos);
  event.mutable_log()->set_text("the range\x07 is empty");
  event.mutable_log()->set_stage("quantize");
  event.mutable_log()->set_target(-1);
  event.mutable_log()->set_severity(v1::JobEvent::Log::WARNING);
  EXPECT_EQ(Line(event), "quantize  warning: the range? is empty\n");
  event.mutable_log()->set_severity(v1::JobEvent::Log::INFO);
  event.mutable_log()->set_stage("");
  EXPECT_EQ(Line(event), "the range? is empty\n");
}

TEST_F(EventLineTest, OfRunningTotalsOnlyTheLast) {
  v1::JobEvent event;
  event.mutable_progress()->set_stage("tile");
  EXPECT_EQ(Line(event), "");
  event.mutable_samples()->set_done(16);
  event.mutable_samples()->set_total(40);
  EXPECT_EQ(Line(event), "");
  event.mutable_samples()->set_done(40);
  event.mutable_samples()->mutable_accuracy()->set_value(0.85);
  event.mutable_samples()->mutable_accuracy()->set_low(0.7);
  event.mutable_samples()->mutable_accuracy()->set_high(0.93);
  EXPECT_EQ(Line(event),
            "40 samples done on toy-array  accuracy 85.00 % (70.0 to 93.0 %)"
            "\n");
  EXPECT_EQ(Line(v1::JobEvent()), "");
}

}  // namespace
}  // namespace edgekiln::client
