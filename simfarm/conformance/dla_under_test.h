#ifndef EK_SIMFARM_CONFORMANCE_DLA_UNDER_TEST_H_
#define EK_SIMFARM_CONFORMANCE_DLA_UNDER_TEST_H_

// The simulator of simfarm/simulators/dla as a model of the suite.

#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/dla_case.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::conformance {

// The built-in descriptor with the chip's numbers set.
v1::Machine MachineOf(const DlaChip& chip);

// Loads and runs `program` checked, then again fast; both must agree.
// `machine` is that of its chip: making one takes longer than a small program.
DlaOutcome RunSimulator(const DlaCase& program, const v1::Machine& machine,
                        CpuPath cpu_path);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_DLA_UNDER_TEST_H_
