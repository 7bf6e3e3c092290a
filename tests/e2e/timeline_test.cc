// `profile --timeline FILE`: what the file says, beside the report of the same
// job.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "edgekiln/v1/timeline.pb.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/networks.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using v1::TimelineSegment;

// Of all engines, in a report: see Report.Engine.segments.
constexpr int kMaxReported = 4096;
// So little that the tiles are many.
constexpr char kSmallChip[] =
    "extends: \"dla\"\n"
    "set { name: \"pes\" value: 16 }\n"
    "set { name: \"sram_bytes\" value: 6144 }\n";

struct Profiled {
  v1::Report report;
  v1::Timeline timeline;
};

// Busy cycles by unit.
template <typename Segments>
std::map<int, int64_t> BusyCycles(const Segments& segments) {
  std::map<int, int64_t> cycles;
  for (const TimelineSegment& segment : segments) {
    cycles[segment.unit()] += segment.busy_cycles();
  }
  return cycles;
}

// Of all engines of a Timeline or Report.
template <typename Message>
int Segments(const Message& message) {
  int segments = 0;
  for (const auto& engine : message.engines()) {
    segments += engine.segments_size();
  }
  return segments;
}

// What timeline.proto promises of the segments of one engine.
template <typename Segments>
void ExpectInOrder(const Segments& segments, int units, int layers,
                   int64_t cycles) {
  const TimelineSegment* before = nullptr;
  for (const TimelineSegment& segment : segments) {
    ASSERT_GE(segment.unit(), 0);
    ASSERT_LT(segment.unit(), units);
    ASSERT_GE(segment.layer(), 0);
    ASSERT_LT(segment.layer(), layers);
    ASSERT_NE(segment.kind(), TimelineSegment::KIND_UNSPECIFIED);
    ASSERT_LT(segment.begin(), segment.end());
    ASSERT_GT(segment.busy_cycles(), 0);
    ASSERT_LE(segment.busy_cycles(), segment.end() - segment.begin());
    ASSERT_GE(segment.begin(), 0);
    ASSERT_LE(segment.end(), cycles);
    if (before != nullptr) {
      ASSERT_LE(before->unit(), segment.unit());
      if (before->unit() == segment.unit()) {
        ASSERT_LE(before->end(), segment.begin());
      }
    }
    before = &segment;
  }
}

// By layer. On these chips nothing computes at the same time: an engine has one
// unit that does, and the host waits for it.
std::map<int, int64_t> ComputeCycles(const v1::Timeline& timeline) {
  std::map<int, int64_t> cycles;
  for (const v1::EngineTimeline& engine : timeline.engines()) {
    for (const TimelineSegment& segment : engine.segments()) {
      if (segment.kind() == TimelineSegment::COMPUTE ||
          segment.kind() == TimelineSegment::HOST_OP) {
        cycles[segment.layer()] += segment.busy_cycles();
      }
    }
  }
  return cycles;
}

class TimelineTest : public ClusterTest {
 protected:
  static Profiled Profile(const std::string& model, const std::string& target) {
    const std::string path = sandbox().Path("timeline.pb");
    std::filesystem::remove(path);
    Profiled profiled;
    profiled.report = ReportOf(
        cluster().Cli({"profile", model, "--target", target, "--timing-only",
                       "--timeline", path, "--json", "--quiet"}));
    EXPECT_TRUE(profiled.timeline.ParseFromString(ReadWholeFile(path)));
    return profiled;
  }
};

void ExpectOfOneRun(const Profiled& profiled) {
  const v1::Report& report = profiled.report;
  const v1::Timeline& timeline = profiled.timeline;
  EXPECT_EQ(timeline.cycles(), report.totals().cycles());
  ASSERT_EQ(timeline.layers_size(), report.layers_size());
  for (int i = 0; i < report.layers_size(); ++i) {
    EXPECT_EQ(timeline.layers(i), report.layers(i).id());
  }
  ASSERT_EQ(timeline.engines_size(), report.engines_size());
  for (int i = 0; i < report.engines_size(); ++i) {
    const v1::EngineTimeline& whole = timeline.engines(i);
    const v1::Report::Engine& engine = report.engines(i);
    SCOPED_TRACE(engine.name());
    EXPECT_EQ(whole.name(), engine.name());
    EXPECT_EQ(
        std::vector<std::string>(whole.units().begin(), whole.units().end()),
        std::vector<std::string>(engine.units().begin(), engine.units().end()));
    ExpectInOrder(whole.segments(), whole.units_size(), report.layers_size(),
                  timeline.cycles());
    ExpectInOrder(engine.segments(), engine.units_size(), report.layers_size(),
                  timeline.cycles());
    EXPECT_EQ(BusyCycles(whole.segments()), BusyCycles(engine.segments()));
    EXPECT_GE(whole.segments_size(), engine.segments_size());
    for (const TimelineSegment& segment : whole.segments()) {
      ASSERT_EQ(segment.busy_cycles(), segment.end() - segment.begin());
    }
  }
  EXPECT_GT(Segments(report), 0);
  EXPECT_LE(Segments(report), kMaxReported);
  const std::map<int, int64_t> computing = ComputeCycles(timeline);
  for (int i = 0; i < report.layers_size(); ++i) {
    const auto found = computing.find(i);
    EXPECT_EQ(found == computing.end() ? 0 : found->second,
              report.layers(i).compute_cycles())
        << report.layers(i).id();
  }
}

TEST_F(TimelineTest, AShortOneIsTheReports) {
  for (const std::string& target :
       {std::string("dla-64-o-512k"), sandbox().Write("own.txtpb", kOwnChip)}) {
    SCOPED_TRACE(target);
    const Profiled profiled =
        Profile(SourcePath("docs/example/digits.onnx"), target);
    ExpectOfOneRun(profiled);
    EXPECT_EQ(Segments(profiled.timeline), Segments(profiled.report));
  }
}

TEST_F(TimelineTest, ALongOneIsMergedInTheReport) {
  constexpr char kModel[] = "models/mobilenet_v1_0.25_224_fp32.tflite";
  EK_REQUIRE_SHARED(kModel);
  const Profiled profiled =
      Profile(SharedPath(kModel), sandbox().Write("small.txtpb", kSmallChip));
  ExpectOfOneRun(profiled);
  EXPECT_GT(Segments(profiled.timeline), kMaxReported);
}

// Nor does asking for the file change the report.
TEST_F(TimelineTest, NobodyElseGetsAFile) {
  const std::string model = SourcePath("docs/example/digits.onnx");
  const Profiled with = Profile(model, "dla-128-i-1m");
  const v1::Report without =
      ReportOf(cluster().Cli({"profile", model, "--target", "dla-128-i-1m",
                              "--timing-only", "--json", "--quiet"}));
  ExpectSame(with.report, without);
  EXPECT_EQ(StagesWith(without, v1::Report::Stage::MISS),
            std::vector<std::string>{"count_cycles"});
}

TEST_F(TimelineTest, TheFileIsNamed) {
  const std::string path = sandbox().Path("timeline.pb");
  const Outcome done = cluster().Cli(
      {"profile", SourcePath("docs/example/digits.onnx"), "--target",
       "dla-128-i-1m", "--timing-only", "--timeline", path, "--quiet"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("\nwrote " + path), std::string::npos) << done.out;
  const Outcome refused =
      cluster().Cli({"profile", SourcePath("docs/example/digits.onnx"),
                     "--target", "dla-128-i-1m", "--timeline", "/dev/full"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("--timeline"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace edgekiln::tests
