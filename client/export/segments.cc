#include "client/export/segments.h"

#include <algorithm>
#include <cstddef>

namespace edgekiln::client {
namespace {

// No inference takes longer: a century at 2 GHz.
constexpr int64_t kMaxCycle = int64_t{1} << 62;

bool IsPossible(const v1::TimelineSegment& segment) {
  return segment.begin() >= 0 && segment.begin() < segment.end() &&
         segment.end() <= kMaxCycle && segment.busy_cycles() >= 0 &&
         segment.busy_cycles() <= segment.end() - segment.begin();
}

}  // namespace

std::vector<UnitSegments> SegmentsByUnit(const v1::Report::Engine& engine) {
  std::vector<UnitSegments> units(engine.units_size());
  for (const v1::TimelineSegment& segment : engine.segments()) {
    if (!IsPossible(segment)) continue;
    if (segment.unit() < 0 || segment.unit() >= engine.units_size()) continue;
    UnitSegments& unit = units[segment.unit()];
    if (!unit.empty() && segment.begin() < unit.back()->end()) continue;
    unit.push_back(&segment);
  }
  return units;
}

std::vector<int64_t> LayerStarts(const v1::Report& report) {
  constexpr int64_t kUnknown = -1;
  std::vector<int64_t> starts(report.layers_size(), kUnknown);
  for (const v1::Report::Engine& engine : report.engines()) {
    for (const UnitSegments& unit : SegmentsByUnit(engine)) {
      for (const v1::TimelineSegment* segment : unit) {
        const bool computes = segment->kind() == v1::TimelineSegment::COMPUTE ||
                              segment->kind() == v1::TimelineSegment::HOST_OP;
        const int layer = segment->layer();
        if (!computes || layer < 0 || layer >= report.layers_size()) continue;
        int64_t& start = starts[layer];
        if (start == kUnknown || segment->begin() < start) {
          start = segment->begin();
        }
      }
    }
  }
  int64_t latest = 0;
  for (int64_t& start : starts) {
    latest = std::max(latest, start);
    start = latest;
  }
  return starts;
}

}  // namespace edgekiln::client
