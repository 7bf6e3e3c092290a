#ifndef EK_CLIENT_EXPORT_SEGMENTS_H_
#define EK_CLIENT_EXPORT_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/timeline.pb.h"

namespace edgekiln::client {

// When one unit of an engine works: segments in order that do not overlap.
using UnitSegments = std::vector<const v1::TimelineSegment*>;

// Per unit of the engine. Segments that no timeline can have, as only a damaged
// file holds them, are left out. Points into `engine`.
std::vector<UnitSegments> SegmentsByUnit(const v1::Report::Engine& engine);

// Per layer, the cycle in which an engine or the host first computes it. Never
// falls: a layer that starts before its predecessor counts from there on, and
// so does one without segments.
std::vector<int64_t> LayerStarts(const v1::Report& report);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_EXPORT_SEGMENTS_H_
