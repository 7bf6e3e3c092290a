#include "reports/export/perfetto_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "perfetto/trace.pb.h"
#include "reports/export/memory_use.h"
#include "reports/export/segments.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

namespace perfetto = ::perfetto::protos;

// All packets come from one writer.
constexpr uint32_t kSequence = 1;
// Rank of counters below the units of their engine.
constexpr int32_t kAfterUnits = 1 << 20;

std::string LayerName(const v1::Report& report, int32_t layer) {
  if (layer < 0 || layer >= report.layers_size()) return "unknown layer";
  return CleanText(report.layers(layer).id());
}

std::string ReportName(const v1::Report& report) {
  std::string name = CleanText(report.model_name());
  if (!report.target_name().empty()) {
    absl::StrAppend(&name, " on ", CleanText(report.target_name()));
  }
  return name;
}

// Builds one trace of several reports.
class TraceWriter {
 public:
  void Add(const v1::Report& report) {
    const int64_t cycles = report.totals().cycles();
    const double latency_ns = report.totals().latency_ms() * 1e6;
    // A report without a latency: one nanosecond per cycle.
    ns_per_cycle_ = cycles > 0 && latency_ns > 0 && std::isfinite(latency_ns)
                        ? latency_ns / static_cast<double>(cycles)
                        : 1;
    launches_ = LaunchesOf(report);
    launch_ids_.clear();
    for (const auto& [segment, launch] : launches_) {
      launch_ids_.try_emplace(launch, 0);
    }
    // In the order of the report, so that the bytes are always the same.
    for (const v1::Report::Engine& engine : report.engines()) {
      for (const v1::TimelineSegment& segment : engine.segments()) {
        const auto launch = launch_ids_.find(&segment);
        if (launch != launch_ids_.end()) launch->second = ++flows_;
      }
    }
    const TransferRates rates = TransferRatesOf(report);
    for (const v1::Report::Engine& engine : report.engines()) {
      AddEngine(report, engine, rates);
    }
    AddMemories(report);
  }

  std::string Finish() const { return trace_.SerializeAsString(); }

 private:
  perfetto::TracePacket& NewPacket() {
    perfetto::TracePacket& packet = *trace_.add_packet();
    packet.set_trusted_packet_sequence_id(kSequence);
    return packet;
  }

  perfetto::TrackDescriptor& NewTrack(const std::string& name) {
    perfetto::TrackDescriptor& track = *NewPacket().mutable_track_descriptor();
    track.set_uuid(++tracks_);
    track.set_name(name);
    return track;
  }

  // A group of tracks; returns its id.
  uint64_t AddGroup(const std::string& name) {
    perfetto::TrackDescriptor& track = NewTrack(name);
    track.mutable_process()->set_pid(++groups_);
    track.mutable_process()->set_process_name(name);
    track.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
    return track.uuid();
  }

  // An event at a cycle of the inference.
  perfetto::TrackEvent& AddEvent(uint64_t track, int64_t cycle,
                                 perfetto::TrackEvent::Type type) {
    constexpr double kLatest = 4e18;
    const double ns =
        std::min(static_cast<double>(cycle) * ns_per_cycle_, kLatest);
    perfetto::TracePacket& packet = NewPacket();
    packet.set_timestamp(static_cast<uint64_t>(std::llround(ns)));
    perfetto::TrackEvent& event = *packet.mutable_track_event();
    event.set_track_uuid(track);
    event.set_type(type);
    return event;
  }

  void AddEngine(const v1::Report& report, const v1::Report::Engine& engine,
                 const TransferRates& rates) {
    const std::vector<UnitSegments> units = SegmentsByUnit(engine);
    const bool empty =
        std::all_of(units.begin(), units.end(),
                    [](const UnitSegments& unit) { return unit.empty(); });
    if (empty) return;
    const uint64_t group = AddGroup(
        absl::StrCat(engine.host() ? "host " : "engine ",
                     CleanText(engine.name()), ", ", ReportName(report)));
    for (size_t unit = 0; unit < units.size(); ++unit) {
      if (units[unit].empty()) continue;
      perfetto::TrackDescriptor& track =
          NewTrack(CleanText(engine.units(static_cast<int>(unit))));
      track.set_parent_uuid(group);
      track.set_sibling_order_rank(static_cast<int32_t>(unit));
      const uint64_t id = track.uuid();
      for (const v1::TimelineSegment* segment : units[unit]) {
        AddSlice(report, *segment, id);
      }
      AddRate(CleanText(engine.units(static_cast<int>(unit))), units[unit],
              rates, group);
    }
  }

  // How many bytes a second a unit moves, if it moves any.
  void AddRate(const std::string& unit, const UnitSegments& segments,
               const TransferRates& rates, uint64_t group) {
    const bool moves = std::any_of(
        segments.begin(), segments.end(),
        [&](const auto* segment) { return rates.Of(*segment) > 0; });
    if (!moves) return;
    perfetto::TrackDescriptor& track =
        NewTrack(absl::StrCat(unit, " bandwidth"));
    track.set_parent_uuid(group);
    track.set_sibling_order_rank(kAfterUnits);
    track.mutable_counter()->set_unit_name("bytes/s");
    const uint64_t id = track.uuid();
    const auto count = [&](int64_t cycle, double bytes_per_cycle) {
      constexpr double kMost = 9e18;
      const double per_second = bytes_per_cycle / ns_per_cycle_ * 1e9;
      AddEvent(id, cycle, perfetto::TrackEvent::TYPE_COUNTER)
          .set_counter_value(std::llround(std::clamp(per_second, 0.0, kMost)));
    };
    int64_t end = -1;
    for (const v1::TimelineSegment* segment : segments) {
      if (end >= 0 && segment->begin() > end) count(end, 0);
      const auto length =
          static_cast<double>(segment->end() - segment->begin());
      // A merged segment works for a part of its time.
      count(segment->begin(),
            rates.Of(*segment) *
                (static_cast<double>(segment->busy_cycles()) / length));
      end = segment->end();
    }
    count(end, 0);
  }

  void AddSlice(const v1::Report& report, const v1::TimelineSegment& segment,
                uint64_t track) {
    perfetto::TrackEvent& begin = AddEvent(
        track, segment.begin(), perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    begin.set_name(LayerName(report, segment.layer()));
    begin.add_categories(v1::TimelineSegment::Kind_Name(segment.kind()));
    const auto annotate = [&begin](const char* name, int64_t value) {
      perfetto::DebugAnnotation& annotation = *begin.add_debug_annotations();
      annotation.set_name(name);
      annotation.set_int_value(value);
    };
    annotate("begin_cycle", segment.begin());
    annotate("end_cycle", segment.end());
    annotate("busy_cycles", segment.busy_cycles());
    const auto starts = launch_ids_.find(&segment);
    if (starts != launch_ids_.end()) begin.add_flow_ids(starts->second);
    const auto started = launches_.find(&segment);
    if (started != launches_.end()) {
      begin.add_terminating_flow_ids(launch_ids_.at(started->second));
    }
    AddEvent(track, segment.end(), perfetto::TrackEvent::TYPE_SLICE_END);
  }

  void AddMemories(const v1::Report& report) {
    const std::vector<MemoryOverTime> memories = MemoriesOverTime(report);
    if (memories.empty()) return;
    const std::vector<int64_t> starts = LayerStarts(report);
    const uint64_t group =
        AddGroup(absl::StrCat("memory, ", ReportName(report)));
    int32_t rank = 0;
    for (const MemoryOverTime& memory : memories) {
      perfetto::TrackDescriptor& track = NewTrack(CleanText(memory.name));
      track.set_parent_uuid(group);
      track.set_sibling_order_rank(rank++);
      track.mutable_counter()->set_unit(
          perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
      const uint64_t id = track.uuid();
      for (size_t layer = 0; layer < memory.bytes_by_layer.size(); ++layer) {
        AddEvent(id, starts[layer], perfetto::TrackEvent::TYPE_COUNTER)
            .set_counter_value(memory.bytes_by_layer[layer]);
      }
      AddEvent(id, std::max(report.totals().cycles(), starts.back()),
               perfetto::TrackEvent::TYPE_COUNTER)
          .set_counter_value(0);
    }
  }

  perfetto::Trace trace_;
  double ns_per_cycle_ = 1;
  uint64_t tracks_ = 0;
  int32_t groups_ = 0;
  uint64_t flows_ = 0;
  // Of the report that is added.
  Launches launches_;
  std::map<const v1::TimelineSegment*, uint64_t> launch_ids_;
};

}  // namespace

std::string ReportsToPerfetto(const std::vector<v1::Report>& reports) {
  TraceWriter writer;
  for (const v1::Report& report : reports) writer.Add(report);
  return writer.Finish();
}

}  // namespace edgekiln
