#ifndef EK_SIMFARM_SESSION_UNIT_SEGMENTS_H_
#define EK_SIMFARM_SESSION_UNIT_SEGMENTS_H_

// When the units of all engines and the host work, on the wall clock.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/segments.h"

namespace edgekiln::simfarm {

// Not thread-safe.
class UnitSegments {
 public:
  // For kMaxTimelineSegments at most. `loaded` must outlive this object.
  explicit UnitSegments(const LoadedProgram& loaded);

  // `who` is an engine or kHost, `unit` one of its units.
  void Add(int32_t who, int32_t unit, const WorkSegment& segment) {
    merger_.Add(first_unit_[IndexOf(who)] + unit, segment);
  }
  // Of a stream that is launched at `begin` cycles. OUT_OF_RANGE if it ends
  // after 2^62 cycles.
  absl::Status AddStream(const LoadedStream& stream, int64_t begin);

  // From now on, `limit` at most.
  void Merge(int64_t limit);

  // Adds units and segments of engine `index`; behind the engines, the host.
  // `written` is an EngineBusy or EngineTimeline.
  template <typename Engine>
  void Write(int index, Engine* written) {
    for (size_t u = 0; u < units_[index].size(); ++u) {
      written->add_units(units_[index][u]);
      for (const SegmentMerger::Merged& each :
           merger_.Finish()[first_unit_[index] + u]) {
        v1::TimelineSegment* segment = written->add_segments();
        segment->set_unit(static_cast<int32_t>(u));
        segment->set_begin(each.segment.begin);
        segment->set_end(each.segment.end);
        segment->set_busy_cycles(each.busy_cycles);
        segment->set_layer(each.segment.layer);
        segment->set_kind(each.segment.kind);
      }
    }
  }

 private:
  // The host comes last.
  int IndexOf(int32_t who) const {
    return who == kHost ? static_cast<int>(units_.size()) - 1 : who;
  }

  const LoadedProgram& loaded_;
  std::vector<std::vector<std::string>> units_;  // Their names, by engine.
  std::vector<int> first_unit_;                  // By engine, in merger_.
  SegmentMerger merger_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_UNIT_SEGMENTS_H_
