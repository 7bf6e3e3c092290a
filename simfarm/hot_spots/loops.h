#ifndef EK_SIMFARM_HOT_SPOTS_LOOPS_H_
#define EK_SIMFARM_HOT_SPOTS_LOOPS_H_

// Loops in what an inference executed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simfarm/session/firmware_profile.h"

namespace edgekiln::simfarm {

// The addresses from the destination of a backward branch to the branch.
struct HotLoop {
  size_t begin = 0;  // Indices into FirmwareProfile.addresses.
  size_t end = 0;
  int64_t executed = 0;  // Instructions.
  int64_t cycles = 0;
};

// Loops of more instructions than this are not looked for.
inline constexpr int64_t kMaxLoopInstructions = 256;

// At most `max_loops` loops of one function each, none inside another or
// overlapping it, by cycles, the most first. Those come first whose own
// instructions, without those of loops inside, take most. A backward branch
// makes a loop where at least half of the executions of its destination come
// from it: code that a compiler moved out of the way jumps back as well.
std::vector<HotLoop> FindHotLoops(const FirmwareProfile& profile,
                                  size_t max_loops);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_HOT_SPOTS_LOOPS_H_
