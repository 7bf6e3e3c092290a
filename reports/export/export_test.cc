// Reports for other programs.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "perfetto/trace.pb.h"
#include "reports/export/layers_csv.h"
#include "reports/export/markdown.h"
#include "reports/export/memory_use.h"
#include "reports/export/model_explorer.h"
#include "reports/export/perfetto_trace.h"
#include "reports/export/segments.h"
#include "reports/testing/sample_report.h"

namespace edgekiln {
namespace {

namespace perfetto = ::perfetto::protos;

std::vector<std::string> Lines(const std::string& text,
                               const std::string& end) {
  return absl::StrSplit(text, end);
}

TEST(LayersCsvTest, OneRecordPerLayer) {
  const std::vector<std::string> lines =
      Lines(LayersToCsv({SampleReport()}), "\r\n");
  ASSERT_EQ(lines.size(), 5u);  // Titles, three layers, the end.
  const std::vector<std::string> titles = Lines(lines[0], ",");
  const std::vector<std::string> conv = Lines(lines[1], ",");
  ASSERT_EQ(titles.size(), conv.size());
  std::map<std::string, std::string> fields;
  for (size_t i = 0; i < titles.size(); ++i) fields[titles[i]] = conv[i];
  EXPECT_EQ(fields["model"], "net.tflite");
  EXPECT_EQ(fields["layer"], "conv1");
  EXPECT_EQ(fields["cycles"], "1000");
  EXPECT_EQ(fields["stall_transfer_cycles"], "100");
  EXPECT_EQ(fields["utilization"], "0.781");
  EXPECT_EQ(fields["macs_per_byte"], "12.5");
  EXPECT_EQ(fields["fidelity"], "cycle-approximate");
  EXPECT_EQ(fields["bound_cycles"], "");  // The model does not say.
}

TEST(LayersCsvTest, NamesAreQuoted) {
  v1::Report report = SampleReport();
  report.mutable_layers(0)->set_id("=1+\"2\",3\n");
  EXPECT_TRUE(
      absl::StrContains(LayersToCsv({report}), ",\"'=1+\"\"2\"\",3?\","))
      << LayersToCsv({report});
}

TEST(MarkdownTest, VerdictTotalsAndLayers) {
  const std::string text = ReportsToMarkdown({SampleReport()});
  EXPECT_TRUE(absl::StrContains(text,
                                "### `net.tflite` on `chip`\n\n"
                                "**bit\\-exact**\n"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "| cycles | 2 000 (cycle-approximate) |"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "| `sram` | 3.0 KiB of 512.0 KiB |"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "| top1 | 96.60 % (95.3 to 97.6 %) |"))
      << text;
  EXPECT_TRUE(absl::StrContains(
      text, "| `conv1` | `conv2d` | `dla` | 1 000 | 50.0 % |"))
      << text;
}

TEST(MarkdownTest, NamesAreNoMarkup) {
  v1::Report report = SampleReport();
  report.set_model_name("a`b|c");
  report.mutable_layers(0)->set_id("<script>@all</script>");
  report.add_warnings("layer [x](http://y) & <b> @all");
  const std::string text = ReportsToMarkdown({report});
  EXPECT_TRUE(absl::StrContains(text, "### `` a`b\\|c `` on")) << text;
  EXPECT_TRUE(absl::StrContains(text, "| `<script>@all</script>` |")) << text;
  EXPECT_TRUE(absl::StrContains(
      text, "- layer \\[x\\]\\(http\\://y\\) \\& \\<b\\> \\@all\n"))
      << text;
}

TEST(MarkdownTest, BrokenLimitAndFailure) {
  v1::Report report = SampleReport();
  v1::Report::Gate& gate = *report.add_gates();
  gate.set_name("cycles");
  gate.set_unit("cycles");
  gate.set_limit(1000);
  gate.set_value(2000);
  EXPECT_TRUE(
      absl::StrContains(ReportsToMarkdown({report}), "**limit broken**\n"));
  v1::Report failed;
  failed.set_model_name("m");
  failed.mutable_error()->set_what("it does not fit");
  EXPECT_EQ(ReportsToMarkdown({failed}),
            "### `m`\n\n**failed**\n\n- it does not fit\n");
}

TEST(MemoryUseTest, SharedBytesCountOnce) {
  const std::vector<MemoryOverTime> memories = MemoriesOverTime(SampleReport());
  ASSERT_EQ(memories.size(), 1u);
  EXPECT_EQ(memories[0].name, "sram");
  EXPECT_EQ(memories[0].bytes_by_layer,
            (std::vector<int64_t>{1024, 1536, 1024}));
}

TEST(MemoryUseTest, AddressesBeyondTheEndAreLeftOut) {
  v1::Report report = SampleReport();
  report.mutable_tensors(0)->set_address(~uint64_t{0});
  EXPECT_EQ(MemoriesOverTime(report)[0].bytes_by_layer,
            (std::vector<int64_t>{0, 1024, 1024}));
}

TEST(SegmentsTest, LayersStartWhereTheyCompute) {
  EXPECT_EQ(LayerStarts(SampleReport()), (std::vector<int64_t>{0, 1000, 1500}));
  v1::Report report = SampleReport();
  report.mutable_engines(0)->clear_segments();
  EXPECT_EQ(LayerStarts(report), (std::vector<int64_t>{0, 0, 1500}));
}

perfetto::Trace Trace(const std::vector<v1::Report>& reports) {
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(ReportsToPerfetto(reports)));
  return trace;
}

// What a trace says of one track.
struct Track {
  perfetto::TrackDescriptor descriptor;
  std::vector<perfetto::TracePacket> events;
};

// By id; checks that descriptions come before events, and parents before
// children.
std::map<uint64_t, Track> TracksOf(const perfetto::Trace& trace) {
  std::map<uint64_t, Track> tracks;
  for (const perfetto::TracePacket& packet : trace.packet()) {
    EXPECT_EQ(packet.trusted_packet_sequence_id(), 1u);
    if (packet.has_track_descriptor()) {
      const perfetto::TrackDescriptor& descriptor = packet.track_descriptor();
      EXPECT_TRUE(
          tracks.emplace(descriptor.uuid(), Track{descriptor, {}}).second);
      const uint64_t parent = descriptor.parent_uuid();
      EXPECT_TRUE(descriptor.has_process() || tracks.contains(parent));
    } else {
      EXPECT_TRUE(packet.optional_timestamp_case() != 0);
      EXPECT_TRUE(tracks.contains(packet.track_event().track_uuid()));
      tracks[packet.track_event().track_uuid()].events.push_back(packet);
    }
  }
  return tracks;
}

// Slices follow each other without an overlap; returns their nanoseconds.
uint64_t CheckSlices(const Track& track) {
  uint64_t now = 0;
  uint64_t sum = 0;
  bool open = false;
  for (const perfetto::TracePacket& packet : track.events) {
    EXPECT_GE(packet.timestamp(), now);
    const bool begins =
        packet.track_event().type() == perfetto::TrackEvent::TYPE_SLICE_BEGIN;
    EXPECT_NE(begins, open);
    if (!begins) sum += packet.timestamp() - now;
    open = begins;
    now = packet.timestamp();
  }
  EXPECT_FALSE(open);
  return sum;
}

const Track* FindTrack(const std::map<uint64_t, Track>& tracks,
                       const std::string& name) {
  for (const auto& [id, track] : tracks) {
    if (track.descriptor.name() == name) return &track;
  }
  return nullptr;
}

TEST(ModelExplorerTest, CyclesByTensor) {
  v1::Report report;
  for (const char* name : {"b", "a\"<", "b"}) {
    v1::Report::Layer& layer = *report.add_layers();
    layer.set_id(name);
    layer.set_cycles(10);
  }
  EXPECT_EQ(ReportToModelExplorer(report),
            "{\n  \"results\": {\n"
            "    \"a\\\"<\": {\"value\": 10},\n"
            "    \"b\": {\"value\": 20}\n  },\n"
            "  \"gradient\": [{\"stop\": 0, \"bgColor\": \"#f7fbff\", "
            "\"textColor\": \"#000000\"}, {\"stop\": 1, \"bgColor\": "
            "\"#c0392b\", \"textColor\": \"#000000\"}]\n}\n");
}

TEST(PerfettoTest, UnitsAreTracksOfTheirEngine) {
  const auto tracks = TracksOf(Trace({SampleReport()}));
  const Track* compute = FindTrack(tracks, "compute");
  const Track* core = FindTrack(tracks, "core");
  ASSERT_NE(compute, nullptr);
  ASSERT_NE(core, nullptr);
  EXPECT_EQ(tracks.at(compute->descriptor.parent_uuid()).descriptor.name(),
            "engine dla, net.tflite on chip");
  EXPECT_EQ(tracks.at(core->descriptor.parent_uuid()).descriptor.name(),
            "host cpu, net.tflite on chip");
  // 2 ns per cycle.
  EXPECT_EQ(CheckSlices(*compute), 3000u);
  EXPECT_EQ(CheckSlices(*core), 1000u);
  const perfetto::TrackEvent& first = compute->events[0].track_event();
  EXPECT_EQ(compute->events[0].timestamp(), 0u);
  EXPECT_EQ(first.name(), "conv1");
  EXPECT_EQ(first.categories(0), "COMPUTE");
  // The second slice is a merged one.
  const perfetto::TrackEvent& merged = compute->events[2].track_event();
  std::map<std::string, int64_t> values;
  for (const auto& annotation : merged.debug_annotations()) {
    values[annotation.name()] = annotation.int_value();
  }
  EXPECT_EQ(values["begin_cycle"], 1000);
  EXPECT_EQ(values["end_cycle"], 1500);
  EXPECT_EQ(values["busy_cycles"], 250);
}

TEST(PerfettoTest, MemoriesAreCounters) {
  const auto tracks = TracksOf(Trace({SampleReport()}));
  const Track* sram = FindTrack(tracks, "sram");
  ASSERT_NE(sram, nullptr);
  EXPECT_EQ(sram->descriptor.counter().unit(),
            perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
  std::vector<std::pair<uint64_t, int64_t>> values;
  for (const perfetto::TracePacket& packet : sram->events) {
    values.emplace_back(packet.timestamp(),
                        packet.track_event().counter_value());
  }
  EXPECT_EQ(values, (std::vector<std::pair<uint64_t, int64_t>>{
                        {0, 1024}, {2000, 1536}, {3000, 1024}, {4000, 0}}));
}

v1::TimelineSegment& AddSegment(v1::Report& report, int engine, int64_t begin,
                                int64_t end, int layer,
                                v1::TimelineSegment::Kind kind) {
  v1::TimelineSegment& segment =
      *report.mutable_engines(engine)->add_segments();
  segment.set_begin(begin);
  segment.set_end(end);
  segment.set_busy_cycles(end - begin);
  segment.set_layer(layer);
  segment.set_kind(kind);
  return segment;
}

// Flows: the host launches layers 0, 0 and 1; what it writes for layer 0 in two
// pieces is one launch.
TEST(PerfettoTest, LaunchesAreJoinedWithWhatTheyLaunch) {
  v1::Report report;
  report.add_layers()->set_id("a");
  report.add_layers()->set_id("b");
  report.add_engines()->add_units("array");
  report.add_engines()->add_units("core");
  using Segment = v1::TimelineSegment;
  AddSegment(report, 0, 20, 50, 0, Segment::COMPUTE);
  AddSegment(report, 0, 60, 90, 0, Segment::COMPUTE);
  AddSegment(report, 0, 95, 99, 1, Segment::COMPUTE);
  AddSegment(report, 0, 99, 110, 1, Segment::COMPUTE);  // Not launched.
  AddSegment(report, 1, 0, 10, 0, Segment::HOST_REGISTERS);
  AddSegment(report, 1, 12, 20, 0, Segment::HOST_REGISTERS);
  AddSegment(report, 1, 50, 55, 0, Segment::HOST_REGISTERS);
  AddSegment(report, 1, 55, 95, 1, Segment::HOST_REGISTERS);
  const auto tracks = TracksOf(Trace({report}));
  std::map<uint64_t, uint64_t> begins;
  std::map<uint64_t, uint64_t> ends;
  for (const auto& [id, track] : tracks) {
    for (const perfetto::TracePacket& packet : track.events) {
      for (const uint64_t flow : packet.track_event().flow_ids()) {
        EXPECT_TRUE(begins.emplace(flow, packet.timestamp()).second);
      }
      for (const uint64_t flow : packet.track_event().terminating_flow_ids()) {
        EXPECT_TRUE(ends.emplace(flow, packet.timestamp()).second);
      }
    }
  }
  using Flows = std::map<uint64_t, uint64_t>;
  EXPECT_EQ(begins, (Flows{{1, 12}, {2, 50}, {3, 55}}));
  EXPECT_EQ(ends, (Flows{{1, 20}, {2, 60}, {3, 95}}));
}

TEST(PerfettoTest, BandwidthIsThatOfTheLayersTransfers) {
  v1::Report report;
  report.add_layers()->set_id("a");
  report.mutable_layers(0)->set_dma_bytes_read(600);
  report.add_engines()->add_units("dma");
  using Segment = v1::TimelineSegment;
  AddSegment(report, 0, 0, 100, 0, Segment::DMA_READ);
  AddSegment(report, 0, 150, 250, 0, Segment::DMA_READ).set_busy_cycles(50);
  const auto tracks = TracksOf(Trace({report}));
  const Track* rate = FindTrack(tracks, "dma bandwidth");
  ASSERT_NE(rate, nullptr);
  std::vector<std::pair<uint64_t, int64_t>> values;
  for (const perfetto::TracePacket& packet : rate->events) {
    values.emplace_back(packet.timestamp(),
                        packet.track_event().counter_value());
  }
  // 600 bytes in 150 cycles of a nanosecond; the second segment works half of
  // its time.
  EXPECT_EQ(values,
            (std::vector<std::pair<uint64_t, int64_t>>{
                {0, 4'000'000'000}, {100, 0}, {150, 2'000'000'000}, {250, 0}}));
}

TEST(PerfettoTest, SeveralReportsHaveTracksOfTheirOwn) {
  const auto one = TracksOf(Trace({SampleReport()}));
  const auto two = TracksOf(Trace({SampleReport(), SampleReport()}));
  EXPECT_EQ(two.size(), 2 * one.size());
  EXPECT_EQ(ReportsToPerfetto({SampleReport()}),
            ReportsToPerfetto({SampleReport()}));
}

TEST(PerfettoTest, WithoutALatencyACycleIsANanosecond) {
  v1::Report report = SampleReport();
  report.mutable_totals()->set_latency_ms(0);
  const auto tracks = TracksOf(Trace({report}));
  EXPECT_EQ(CheckSlices(*FindTrack(tracks, "core")), 500u);
}

}  // namespace
}  // namespace edgekiln
