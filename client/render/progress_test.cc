#include "client/render/progress.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace edgekiln::client {
namespace {

v1::JobEvent Started(const std::string& stage) {
  v1::JobEvent event;
  event.mutable_stage_started()->set_name(stage);
  return event;
}

v1::JobEvent StageAt(const std::string& stage, int64_t done, int64_t total,
                     const std::string& unit) {
  v1::JobEvent event;
  event.mutable_progress()->set_stage(stage);
  event.mutable_progress()->mutable_progress()->set_done(done);
  event.mutable_progress()->mutable_progress()->set_total(total);
  event.mutable_progress()->mutable_progress()->set_unit(unit);
  return event;
}

v1::JobEvent SamplesAt(int64_t done, int64_t total, int64_t correct) {
  v1::JobEvent event;
  event.mutable_samples()->set_done(done);
  event.mutable_samples()->set_total(total);
  event.mutable_samples()->set_labelled(done);
  event.mutable_samples()->set_correct(correct);
  return event;
}

v1::JobEvent Waiting(const std::string& reason) {
  v1::JobEvent event;
  event.mutable_waiting()->set_reason(reason);
  return event;
}

v1::JobEvent Finished(const std::string& stage, double seconds) {
  v1::JobEvent event;
  event.mutable_stage_finished()->set_name(stage);
  event.mutable_stage_finished()->set_cache(v1::Report::Stage::MISS);
  event.mutable_stage_finished()->set_seconds(seconds);
  return event;
}

TEST(ProgressModelTest, Lines) {
  ProgressModel model(absl::Seconds(100));
  const auto at = [](double seconds) { return absl::Seconds(100 + seconds); };
  EXPECT_EQ(model.Line(at(0), 80), "  0.0 s  starting");
  model.SetLocalStep("upload", 512, 2048, at(0.5));
  EXPECT_EQ(model.Line(at(0.5), 80),
            "  0.5 s  upload  512 B of 2.0 KiB (25 %)");
  model.SetLocalStep("upload", 1024, 2048, at(2.5));
  EXPECT_EQ(model.Line(at(2.5), 80),
            "  2.5 s  upload  1.0 KiB of 2.0 KiB (50 %)  ETA 4.00 s");
  model.SetLocalStep("upload", 1024, 4096, at(2.5));
  EXPECT_EQ(model.Line(at(2.5), 80),
            "  2.5 s  upload  1.0 KiB of 4.0 KiB (25 %)");
  model.Apply(Started("tile"), at(1));
  EXPECT_EQ(model.Line(at(1), 80), "  1.0 s  tile");
  model.Apply(StageAt("tile", 4, 12, "layers"), at(1));
  EXPECT_EQ(model.Line(at(1), 80), "  1.0 s  tile  4/12 layers (33 %)");
  model.Apply(Started("simulate[3]"), at(2));
  model.Apply(SamplesAt(100, 2000, 90), at(2));
  EXPECT_EQ(model.Line(at(2), 80),
            "  2.0 s  simulate  100/2 000 samples (5 %)  accuracy 90.00 %");
  model.Apply(SamplesAt(600, 2000, 300), at(4));
  EXPECT_EQ(model.Line(at(4), 80),
            "  4.0 s  simulate  600/2 000 samples (30 %)  accuracy 50.00 %  "
            "ETA 5.60 s");
  EXPECT_EQ(model.Line(at(4), 20), "  4.0 s  simulate  6");
  model.SetReconnecting(true);
  EXPECT_EQ(model.Line(at(4), 80),
            "  4.0 s  connection lost, waiting for the daemon");
}

TEST(ProgressModelTest, ShowsWhatRunsAndHowLongItMayTake) {
  ProgressModel model(absl::ZeroDuration());
  model.Apply(Started("convert_data"), absl::Seconds(1));
  model.Apply(Started("tile"), absl::Seconds(1));
  model.Apply(Started("tile"), absl::Seconds(1));  // Another target's.
  EXPECT_EQ(model.Line(absl::Seconds(1), 80), "  1.0 s  tile and 2 more");
  model.Apply(StageAt("tile", 2, 12, "layers"), absl::Seconds(2));
  model.Apply(StageAt("tile", 7, 12, "layers"), absl::Seconds(7));
  EXPECT_EQ(model.Line(absl::Seconds(7), 80),
            "  7.0 s  tile and 2 more  7/12 layers (58 %)  ETA 5.00 s");
  model.Apply(Finished("tile", 6), absl::Seconds(8));
  model.Apply(Finished("import", 0), absl::Seconds(8));  // From the cache.
  model.Apply(Finished("tile", 6), absl::Seconds(8));
  EXPECT_EQ(model.Line(absl::Seconds(8), 80), "  8.0 s  convert_data");
  model.Apply(Finished("convert_data", 6), absl::Seconds(9));
  EXPECT_EQ(model.Line(absl::Seconds(9), 80), "  9.0 s  convert_data");
}

TEST(ProgressModelTest, AccuracyHasItsInterval) {
  ProgressModel model(absl::ZeroDuration());
  v1::JobEvent event = SamplesAt(100, 200, 85);
  v1::AccuracyInterval& interval = *event.mutable_samples()->mutable_accuracy();
  interval.set_low(0.767);
  interval.set_high(0.907);
  model.Apply(event, absl::Seconds(1));
  EXPECT_EQ(model.SamplesText(absl::Seconds(1)),
            "100/200 samples (50 %)  accuracy 85.00 % (76.7 to 90.7 %)");
  event = SamplesAt(20, 200, 10);
  event.mutable_samples()->set_target(1);
  model.Apply(event, absl::Seconds(2));
  EXPECT_EQ(model.SamplesText(absl::Seconds(2)),
            "120/400 samples (30 %)  accuracy 85.00 %, 50.00 %");
}

TEST(ProgressModelTest, PlaceAndTimeComeFirstAsAnEstimate) {
  ProgressModel model(absl::ZeroDuration());
  v1::JobEvent event = Waiting("16 jobs run");
  event.mutable_waiting()->set_position(3);
  model.Apply(event, absl::Seconds(1));
  EXPECT_EQ(model.WaitingText(), "waiting (number 3): 16 jobs run");
  event.mutable_waiting()->mutable_eta()->set_seconds(39);
  event.mutable_waiting()->mutable_eta()->set_nanos(200'000'000);
  model.Apply(event, absl::Seconds(1));
  EXPECT_EQ(model.Line(absl::Seconds(2), 44),
            "  2.0 s  waiting (number 3, about 40s): 16 j");
  event.mutable_waiting()->mutable_eta()->set_seconds(0);
  event.mutable_waiting()->set_position(0);
  model.Apply(event, absl::Seconds(1));
  EXPECT_EQ(model.WaitingText(), "waiting (about 1s): 16 jobs run");
}

TEST(ProgressModelTest, EtaStartsOverWithTheDaemon) {
  ProgressModel model(absl::ZeroDuration());
  model.Apply(SamplesAt(0, 100, 0), absl::Seconds(1));
  model.Apply(SamplesAt(50, 100, 0), absl::Seconds(100));
  model.Apply(SamplesAt(10, 100, 0), absl::Seconds(101));
  model.Apply(SamplesAt(55, 100, 0), absl::Seconds(105));
  EXPECT_EQ(model.SamplesText(absl::Seconds(105)),
            "55/100 samples (55 %)  accuracy 0.00 %  ETA 4.00 s");
}

TEST(ProgressModelTest, ExplainsWaiting) {
  ProgressModel model(absl::ZeroDuration());
  EXPECT_EQ(model.WaitingText(), "");
  model.Apply(Waiting("no compile worker"), absl::Seconds(2));
  EXPECT_EQ(model.Line(absl::Seconds(2.5), 80),
            "  2.5 s  waiting: no compile worker");
  model.Apply(Started("import"), absl::Seconds(3));
  EXPECT_EQ(model.WaitingText(), "");
}

TEST(ProgressModelTest, SurvivesNonsense) {
  ProgressModel model(absl::ZeroDuration());
  model.Apply(StageAt("a\x1b", 5, 3, "x\n"), absl::ZeroDuration());
  EXPECT_EQ(model.Line(absl::ZeroDuration(), 80),
            "  0.0 s  a?  5/3 x? (100 %)");
  model.Apply(SamplesAt(-5, 0, 7), absl::ZeroDuration());
  EXPECT_NE(model.Line(absl::Seconds(5), 80), "");
}

class Recorder {
 public:
  Progress::Options Options(ProgressStyle style) {
    return {.style = style,
            .write =
                [this](absl::string_view text) {
                  written.append(text.data(), text.size());
                },
            .width = [] { return 80; },
            .now = [this] { return now; }};
  }
  std::string Take() { return std::exchange(written, ""); }

  std::string written;
  absl::Duration now;
};

TEST(ProgressTest, LiveLineIsRedrawnTenTimesASecondAtMost) {
  Recorder recorder;
  Progress progress(recorder.Options(ProgressStyle::kLive));
  progress.OnEvent(Started("import"));
  EXPECT_EQ(recorder.Take(), "\r  0.0 s  import\x1b[K");
  recorder.now = absl::Milliseconds(50);
  progress.OnEvent(Started("tile"));
  EXPECT_EQ(recorder.Take(), "");
  recorder.now = absl::Milliseconds(100);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "\r  0.1 s  tile and 1 more\x1b[K");
  progress.Clear();
  EXPECT_EQ(recorder.Take(), "\r\x1b[K");
  progress.Clear();
  EXPECT_EQ(recorder.Take(), "");
}

TEST(ProgressTest, LinesAboveAreRedrawnWithTheLiveOne) {
  Recorder recorder;
  Progress::Options options = recorder.Options(ProgressStyle::kLive);
  int height = 24;
  std::vector<int> told;
  options.height = [&] { return height; };
  options.on_lines_above = [&](int lines) { told.push_back(lines); };
  Progress progress(std::move(options));
  int asked = 0;
  std::vector<std::string> rows;
  progress.ShowAbove([&](int lines, const Style& style) {
    ++asked;
    EXPECT_EQ(lines, height - 2);
    EXPECT_EQ(style.width(), 79);
    return rows;
  });
  progress.OnEvent(Started("import"));
  EXPECT_EQ(recorder.Take(), "\r  0.0 s  import\x1b[K");
  rows = {"CELL", "   0"};
  recorder.now = absl::Milliseconds(50);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "");  // Not that often, and nobody is asked.
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(told.empty());
  recorder.now = absl::Milliseconds(100);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "\rCELL\x1b[K\n   0\x1b[K\n  0.1 s  import\x1b[J");
  EXPECT_EQ(told, (std::vector<int>{2}));
  recorder.now = absl::Milliseconds(200);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "\r  0.2 s  import\x1b[K");
  progress.Say("warning");
  EXPECT_EQ(recorder.Take(), "\r\x1b[2A\x1b[Jwarning\n");
  EXPECT_EQ(told, (std::vector<int>{2, 0}));
  recorder.now = absl::Milliseconds(300);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "\rCELL\x1b[K\n   0\x1b[K\n  0.3 s  import\x1b[J");
  // Room for the "^C" that a terminal writes at the end of the line.
  progress.OnEvent(Waiting(std::string(100, 'x')));
  recorder.now = absl::Milliseconds(400);
  progress.OnTick();
  EXPECT_EQ(
      recorder.Take(),
      absl::StrCat("\r  0.4 s  waiting: ", std::string(59, 'x'), "\x1b[K"));
  progress.ShowAbove(nullptr);
  EXPECT_EQ(recorder.Take(), "\r\x1b[2A\x1b[J");
  progress.OnEvent(Started("tile"));
  recorder.now = absl::Milliseconds(500);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "\r  0.5 s  tile and 1 more\x1b[K");
  EXPECT_EQ(asked, 5);
  height = 0;  // No window in which lines can be redrawn.
  progress.ShowAbove([&](int, const Style&) {
    ADD_FAILURE() << "asked";
    return rows;
  });
  recorder.now = absl::Milliseconds(600);
  progress.OnTick();
}

TEST(ProgressTest, PlainLinesAreFew) {
  Recorder recorder;
  Progress progress(recorder.Options(ProgressStyle::kPlain));
  progress.OnEvent(Started("import"));
  EXPECT_EQ(recorder.Take(), "");
  progress.OnEvent(Finished("import", 0.5));
  EXPECT_EQ(recorder.Take(), "stage import  MISS  500 ms\n");
  recorder.now = absl::Seconds(1);
  progress.OnEvent(SamplesAt(10, 100, 9));
  EXPECT_EQ(recorder.Take(), "10/100 samples (10 %)  accuracy 90.00 %\n");
  recorder.now = absl::Seconds(1.5);
  progress.OnEvent(SamplesAt(20, 100, 19));
  EXPECT_EQ(recorder.Take(), "");
  recorder.now = absl::Seconds(2);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(),
            "20/100 samples (20 %)  accuracy 95.00 %  ETA 8.00 s\n");
  recorder.now = absl::Seconds(4);
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "");  // No news.
  progress.OnEvent(Finished("simulate[0]", 0.5));
  EXPECT_EQ(recorder.Take(), "stage simulate  MISS  500 ms\n");
  progress.OnEvent(Finished("interpret[0]", 0.5));
  EXPECT_EQ(recorder.Take(), "stage interpret  MISS  500 ms\n");
  progress.OnEvent(Finished("simulate[1]", 0.5));
  EXPECT_EQ(recorder.Take(), "");
  progress.OnEvent(Waiting("no worker"));
  progress.OnTick();
  EXPECT_EQ(recorder.Take(), "waiting: no worker\n");
}

TEST(ProgressTest, CyclesAreALineOfTheirOwn) {
  v1::JobEvent event;
  v1::Report& report = *event.mutable_counted()->mutable_report();
  report.set_model_name("net");
  report.set_target_name("toy\x1b-array");
  report.mutable_totals()->set_cycles(202'787);
  report.mutable_totals()->set_host_cycles(20'279);
  report.mutable_totals()->set_latency_ms(2.02787);
  report.mutable_totals()->set_fidelity(v1::CYCLE_APPROXIMATE);
  for (const ProgressStyle style :
       {ProgressStyle::kPlain, ProgressStyle::kLive}) {
    Recorder recorder;
    Progress progress(recorder.Options(style));
    progress.OnEvent(event);
    const std::string text = recorder.Take();
    EXPECT_EQ(text.substr(0, 111),
              "counted  net on toy?-array: 202 787 cycles (cycle-approximate), "
              "latency\n2.028 ms, 10.0 % of cycles on the host\n")
        << text;
  }
}

TEST(ProgressTest, NoneWritesNothing) {
  Recorder recorder;
  {
    Progress progress(recorder.Options(ProgressStyle::kNone));
    progress.OnEvent(Started("import"));
    progress.OnLocalStep("upload", 1, 2);
    progress.OnReconnecting(true);
    progress.Say("text");
    progress.OnTick();
  }
  EXPECT_EQ(recorder.Take(), "");
}

}  // namespace
}  // namespace edgekiln::client
