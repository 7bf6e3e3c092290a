#include "simfarm/session/unit_segments.h"

#include "base/status_macros.h"
#include "simfarm/session/timeline.h"

namespace edgekiln::simfarm {
namespace {

v1::TimelineSegment::Kind KindOf(StreamTiming::Kind kind) {
  switch (kind) {
    case StreamTiming::Kind::kCompute:
      return v1::TimelineSegment::COMPUTE;
    case StreamTiming::Kind::kRead:
      return v1::TimelineSegment::DMA_READ;
    case StreamTiming::Kind::kWrite:
      break;
  }
  return v1::TimelineSegment::DMA_WRITE;
}

std::vector<std::vector<std::string>> UnitsOf(const LoadedProgram& loaded) {
  std::vector<std::vector<std::string>> units(loaded.machine.engines_size());
  for (int e = 0; e < loaded.machine.engines_size(); ++e) {
    if (loaded.machine.engines(e).has_jobs()) units[e] = {"compute"};
  }
  for (const LoadedStream& stream : loaded.streams) {
    units[stream.engine] = stream.stream->timing().units;
  }
  units.push_back({"cpu"});
  return units;
}

int CountUnits(const std::vector<std::vector<std::string>>& units) {
  int count = 0;
  for (const std::vector<std::string>& each : units) {
    count += static_cast<int>(each.size());
  }
  return count;
}

}  // namespace

UnitSegments::UnitSegments(const LoadedProgram& loaded)
    : loaded_(loaded),
      units_(UnitsOf(loaded)),
      merger_(CountUnits(units_), kMaxTimelineSegments) {
  int unit = 0;
  for (const std::vector<std::string>& each : units_) {
    first_unit_.push_back(unit);
    unit += static_cast<int>(each.size());
  }
}

absl::Status UnitSegments::AddStream(const LoadedStream& stream,
                                     int64_t begin) {
  const int64_t from_hz = loaded_.machine.engines(stream.engine).clock_hz();
  const int64_t to_hz = loaded_.machine.clock_hz();
  for (const StreamTiming::Work& work : stream.stream->timing().work) {
    EK_ASSIGN_OR_RETURN(const int64_t from,
                        ConvertCycles(work.begin, from_hz, to_hz));
    EK_ASSIGN_OR_RETURN(const int64_t to,
                        ConvertCycles(work.end, from_hz, to_hz));
    Add(stream.engine, work.unit,
        {begin + from, begin + to, stream.layer_of_word[work.word],
         KindOf(work.kind)});
  }
  return absl::OkStatus();
}

void UnitSegments::Merge(int64_t limit) {
  SegmentMerger fewer(CountUnits(units_), limit);
  const auto& units = merger_.Finish();
  for (size_t u = 0; u < units.size(); ++u) {
    for (const SegmentMerger::Merged& each : units[u]) {
      fewer.AddMerged(static_cast<int>(u), each);
    }
  }
  merger_ = std::move(fewer);
}

}  // namespace edgekiln::simfarm
