#ifndef EK_SIMFARM_CONFORMANCE_DLA_NAIVE_DLA_H_
#define EK_SIMFARM_CONFORMANCE_DLA_NAIVE_DLA_H_

// A DLA that is as simple as can be: it lets one cycle pass after the other.
// Written from docs/targets/dla.md alone; shares no code with the simulator or
// the compiler, and no data with the descriptor.

#include "simfarm/conformance/dla/dla_case.h"
#include "simfarm/conformance/stream_case.h"

namespace edgekiln::simfarm::conformance::dla {

// Runs a program that keeps the rules. It notices wrong encodings and accesses
// outside memory, but neither races nor uninitialized bytes nor values that a
// command cannot work with.
StreamOutcome RunNaiveDla(const DlaCase& program);

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_NAIVE_DLA_H_
