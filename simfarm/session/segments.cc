#include "simfarm/session/segments.h"

#include <utility>

namespace edgekiln::simfarm {
namespace {

using Merged = SegmentMerger::Merged;

bool SameLabel(const WorkSegment& a, const WorkSegment& b) {
  return a.layer == b.layer && a.kind == b.kind;
}

// Appends `next` to `merged`, which ends before.
void Join(const Merged& next, Merged& merged) {
  merged.segment.end = next.segment.end;
  merged.busy_cycles += next.busy_cycles;
  if (SameLabel(merged.segment, next.segment)) {
    merged.labelled_cycles += next.labelled_cycles;
  } else if (next.labelled_cycles > merged.labelled_cycles) {
    merged.segment.layer = next.segment.layer;
    merged.segment.kind = next.segment.kind;
    merged.labelled_cycles = next.labelled_cycles;
  }
}

}  // namespace

SegmentMerger::SegmentMerger(int units, int64_t limit)
    : limit_(limit), units_(units) {}

void SegmentMerger::AddMerged(int unit, const Merged& added) {
  std::vector<Merged>& segments = units_[unit];
  if (!segments.empty()) {
    const WorkSegment& last = segments.back().segment;
    const WorkSegment& next = added.segment;
    if ((last.end == next.begin && SameLabel(last, next)) ||
        last.begin / stretch_cycles_ == next.begin / stretch_cycles_) {
      return Join(added, segments.back());
    }
  }
  segments.push_back(added);
  if (++total_ > 2 * limit_) Widen();
}

void SegmentMerger::Widen() {
  while (total_ > limit_) {
    stretch_cycles_ *= 2;  // All begin below 2^62.
    total_ = 0;
    for (std::vector<Merged>& segments : units_) {
      std::vector<Merged> fewer;
      for (const Merged& each : segments) {
        if (!fewer.empty() && fewer.back().segment.begin / stretch_cycles_ ==
                                  each.segment.begin / stretch_cycles_) {
          Join(each, fewer.back());
        } else {
          fewer.push_back(each);
        }
      }
      segments = std::move(fewer);
      total_ += static_cast<int64_t>(segments.size());
    }
  }
}

const std::vector<std::vector<Merged>>& SegmentMerger::Finish() {
  if (total_ > limit_) Widen();
  return units_;
}

}  // namespace edgekiln::simfarm
