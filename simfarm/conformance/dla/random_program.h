#ifndef EK_SIMFARM_CONFORMANCE_DLA_RANDOM_PROGRAM_H_
#define EK_SIMFARM_CONFORMANCE_DLA_RANDOM_PROGRAM_H_

// Small random DLA programs that keep every rule of docs/targets/dla.md: all
// commands, odd shapes and pitches, operands that overwrite what others used,
// waits that suffice.

#include <cstdint>

#include "base/rng.h"
#include "simfarm/conformance/dla/dla_case.h"

namespace edgekiln::simfarm::conformance::dla {

DlaChip RandomChip(Rng& rng);

// About `commands` compute commands, and the transfers they need.
DlaCase RandomProgram(const DlaChip& chip, int commands, Rng& rng);

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_RANDOM_PROGRAM_H_
