#ifndef EK_COMPILER_CODEGEN_ROOMS_H_
#define EK_COMPILER_CODEGEN_ROOMS_H_

// Addresses of all buffers of host-driven regions: one static plan per memory,
// over the turns of the host.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/codegen/turns.h"
#include "compiler/codegen/views.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

struct RoomPlan {
  // By region and buffer, in the buffer's memory.
  std::vector<std::vector<uint64_t>> address;
  std::vector<int64_t> bytes;  // By memory: the peak.
};

// The turns, from 0, between which something is alive; both included.
struct TurnSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

// The turns during which step `step` of `work` uses its buffers: its own turn,
// and for a job those until its end has been seen.
TurnSpan SpanOf(const TurnPlan& turns, int32_t work, int32_t step,
                const std::vector<std::vector<int32_t>>& turn_of);
// The turn of each step, by work and step.
std::vector<std::vector<int32_t>> TurnsOfSteps(const std::vector<Work>& works,
                                               const TurnPlan& turns);

// Nothing if a memory is too small. Buffers of one place, and those that lie
// over it, share one room, which is alive from the first of them to the last.
// `plans` must have passed WorksOf().
std::optional<RoomPlan> PlanRooms(const Views& views,
                                  const std::vector<Work>& works,
                                  const TurnPlan& turns,
                                  const v1::RegionPlans& plans,
                                  const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_ROOMS_H_
