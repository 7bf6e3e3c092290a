#ifndef EK_COMPILER_ENGINES_DLA_HAZARDS_H_
#define EK_COMPILER_ENGINES_DLA_HAZARDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/engines/dla/schedule.h"

namespace edgekiln::compiler::dla {

// The wait count of every command: how many commands of the other unit must be
// complete before it may start, so that no two commands touch a common byte of
// SRAM unordered when one of them writes (docs/targets/dla.md section 6).
// `offsets` places the schedule's buffers. Counts never decrease within a unit,
// since a unit completes its commands in order. System memory needs no counts:
// only the DMA touches it.
std::vector<int64_t> WaitCounts(const Schedule& schedule,
                                absl::Span<const int64_t> offsets);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_HAZARDS_H_
