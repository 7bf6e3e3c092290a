#ifndef EK_REPORTS_EXPORT_SEGMENTS_H_
#define EK_REPORTS_EXPORT_SEGMENTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/timeline.pb.h"

namespace edgekiln {

// When one unit of an engine works: segments in order that do not overlap.
using UnitSegments = std::vector<const v1::TimelineSegment*>;

// Per unit of the engine. Segments that no timeline can have, as only a damaged
// file holds them, are left out. Points into `engine`.
std::vector<UnitSegments> SegmentsByUnit(const v1::Report::Engine& engine);

// Per layer, the cycle in which an engine or the host first computes it. Never
// falls: a layer that starts before its predecessor counts from there on, and
// so does one without segments.
std::vector<int64_t> LayerStarts(const v1::Report& report);

// Per segment in which an engine computes, the one in which the host has
// launched it by writing its registers: the latest of the same layer that ended
// before and has launched nothing else. Merged segments stand for several
// launches. Points into `report`.
using Launches =
    std::map<const v1::TimelineSegment*, const v1::TimelineSegment*>;
Launches LaunchesOf(const v1::Report& report);

// Per layer and direction, bytes per cycle while DMA moves them: what the layer
// moved over the cycles in which a DMA unit worked for it.
struct TransferRates {
  std::vector<double> read;
  std::vector<double> written;

  // Of a segment; 0 unless it is a transfer of a layer.
  double Of(const v1::TimelineSegment& segment) const;
};
TransferRates TransferRatesOf(const v1::Report& report);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_SEGMENTS_H_
