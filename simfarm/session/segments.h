#ifndef EK_SIMFARM_SESSION_SEGMENTS_H_
#define EK_SIMFARM_SESSION_SEGMENTS_H_

// When units work, in at most so many segments.

#include <cstdint>
#include <vector>

#include "edgekiln/v1/timeline.pb.h"

namespace edgekiln::simfarm {

// A span in which one unit works. See v1::TimelineSegment.
struct WorkSegment {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t layer = 0;
  v1::TimelineSegment::Kind kind = v1::TimelineSegment::KIND_UNSPECIFIED;
};

// Collects segments, of each unit in order. What touches and is of one layer
// and kind becomes one. Where there are too many, segments of a unit that begin
// in the same stretch of time become one, and stretches grow until there are
// few enough: the same segments in, the same out. Takes memory for twice the
// limit. Not thread-safe.
class SegmentMerger {
 public:
  // limit >= units.
  SegmentMerger(int units, int64_t limit);

  struct Merged {
    WorkSegment segment;
    int64_t busy_cycles = 0;
    int64_t labelled_cycles = 0;  // Of the part with its layer and kind.
  };
  // Of the same unit, no earlier than those before.
  void Add(int unit, const WorkSegment& segment) {
    const int64_t cycles = segment.end - segment.begin;
    if (cycles > 0) AddMerged(unit, {segment, cycles, cycles});
  }
  // The same for what was merged before.
  void AddMerged(int unit, const Merged& added);
  // By unit; `limit` at most in all.
  const std::vector<std::vector<Merged>>& Finish();

 private:
  void Widen();

  int64_t limit_;
  int64_t total_ = 0;
  int64_t stretch_cycles_ = 1;
  std::vector<std::vector<Merged>> units_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_SEGMENTS_H_
