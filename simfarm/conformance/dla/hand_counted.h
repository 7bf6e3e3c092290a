#ifndef EK_SIMFARM_CONFORMANCE_DLA_HAND_COUNTED_H_
#define EK_SIMFARM_CONFORMANCE_DLA_HAND_COUNTED_H_

// Cycles counted by hand, from docs/targets/dla.md, on chips whose costs are
// small numbers.

#include <vector>

#include "simfarm/conformance/chip_suite.h"

namespace edgekiln::simfarm::conformance::dla {

std::vector<HandCounted> HandCountedPrograms();

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_HAND_COUNTED_H_
