#ifndef EK_SIMFARM_SIMULATORS_CYCLE_LIMIT_H_
#define EK_SIMFARM_SIMULATORS_CYCLE_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"

namespace edgekiln::simfarm {

// Most cycles of a program: sums of two still fit 64 bits.
inline constexpr int64_t kMaxCycles = int64_t{1} << 62;

// TOO_MANY_CYCLES, OUT_OF_RANGE: the timings of the user's target make a stream
// or a program longer than that.
absl::Status TooManyCycles();

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_CYCLE_LIMIT_H_
