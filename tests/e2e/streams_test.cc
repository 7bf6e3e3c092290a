// What somebody sees who watches a job: cycles before the last sample, accuracy
// while samples come, the same log afterwards, and nothing that the report
// contradicts.

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "edgekiln/v1/jobs.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

class StreamsTest : public ClusterTest,
                    public testing::WithParamInterface<const char*> {
 protected:
  // The lines of --json --follow.
  struct Followed {
    std::vector<std::string> events;
    std::vector<v1::JobEvent> parsed;
    std::vector<v1::Report> reports;
  };

  static Followed Split(const std::string& out) {
    Followed followed;
    for (const absl::string_view line : absl::StrSplit(out, '\n')) {
      if (line.empty()) continue;
      constexpr absl::string_view kReport = "{\"report\": ";
      if (line.substr(0, kReport.size()) == kReport) {
        followed.reports.push_back(
            ReportOf({.exit_code = 0,
                      .out = std::string(line.substr(
                          kReport.size(), line.size() - kReport.size() - 1)),
                      .err = ""}));
        continue;
      }
      followed.events.emplace_back(line);
      v1::JobEvent event;
      EXPECT_TRUE(
          google::protobuf::util::JsonStringToMessage(std::string(line), &event)
              .ok())
          << line;
      followed.parsed.push_back(event);
    }
    return followed;
  }
};

TEST_P(StreamsTest, CyclesComeBeforeTheLastSampleAndTheReportAgrees) {
  const std::string model = "models/resnet8_int8.tflite";
  const std::string data = "data/cifar10_ic_100.npz";
  EK_REQUIRE_SHARED(model.c_str());
  EK_REQUIRE_SHARED(data.c_str());
  const Outcome outcome = cluster().Cli(
      {"validate", SharedPath(model), "--target", GetParam(), "--data",
       SharedPath(data), "--json", "--follow", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  const Followed followed = Split(outcome.out);
  ASSERT_EQ(followed.reports.size(), 1u) << outcome;
  const v1::Report& report = followed.reports[0];

  int counted_at = -1;
  int last_sample_at = -1;
  int running_totals = 0;
  v1::JobEvent::Samples last;
  for (size_t i = 0; i < followed.parsed.size(); ++i) {
    const v1::JobEvent& event = followed.parsed[i];
    EXPECT_EQ(event.sequence(), static_cast<int64_t>(i) + 1);
    if (event.has_counted()) {
      EXPECT_EQ(counted_at, -1) << "told twice";
      counted_at = static_cast<int>(i);
      const v1::Report& told = event.counted().report();
      EXPECT_EQ(told.totals().DebugString(), report.totals().DebugString());
      EXPECT_EQ(told.memory().DebugString(), report.memory().DebugString());
      EXPECT_EQ(told.program().hash(), report.program().hash());
      ASSERT_EQ(told.layers_size(), report.layers_size());
      for (int layer = 0; layer < told.layers_size(); ++layer) {
        EXPECT_EQ(told.layers(layer).DebugString(),
                  report.layers(layer).DebugString());
      }
      ASSERT_EQ(told.engines_size(), report.engines_size());
      for (int engine = 0; engine < told.engines_size(); ++engine) {
        EXPECT_EQ(told.engines(engine).busy_cycles(),
                  report.engines(engine).busy_cycles());
      }
    }
    if (!event.has_samples()) continue;
    ++running_totals;
    last = event.samples();
    EXPECT_LE(last.accuracy().low(), last.accuracy().value());
    EXPECT_GE(last.accuracy().high(), last.accuracy().value());
    if (last.done() == last.total()) last_sample_at = static_cast<int>(i);
  }
  ASSERT_GE(counted_at, 0);
  EXPECT_LT(counted_at, last_sample_at);
  EXPECT_GT(running_totals, 1);
  EXPECT_EQ(last.labelled(), report.accuracy().samples());
  EXPECT_EQ(last.accuracy().DebugString(),
            report.accuracy().interval().DebugString());

  // The log that is read back is what was told.
  const Outcome log = cluster().Cli({"jobs", "log", report.job_id(), "--json"});
  ASSERT_EQ(log.exit_code, 0) << log;
  EXPECT_EQ(Split(log.out).events, followed.events);
  const Outcome text = cluster().Cli({"jobs", "log", report.job_id()});
  EXPECT_NE(text.out.find("  succeeded\n"), std::string::npos) << text;
  EXPECT_NE(text.out.find("  counted  "), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Chips, StreamsTest,
                         testing::Values("dla-64-o-512k", "toy-two-array"),
                         [](const auto& info) {
                           return std::string(info.param[0] == 'd' ? "dla"
                                                                   : "toy");
                         });

using FollowTest = ClusterTest;

TEST_F(FollowTest, AnErrorIsTheLastLine) {
  const std::string bad = sandbox().Write("bad.tflite", "not a model");
  const Outcome outcome =
      cluster().Cli({"profile", bad, "--target", "toy-array", "--json",
                     "--follow", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome;
  const std::vector<std::string> lines = absl::StrSplit(outcome.out, '\n');
  ASSERT_GE(lines.size(), 2u) << outcome;
  EXPECT_EQ(lines.back(), "");
  EXPECT_EQ(lines[lines.size() - 2].rfind("{\"error\": {", 0), 0u) << outcome;
}

}  // namespace
}  // namespace edgekiln::tests
