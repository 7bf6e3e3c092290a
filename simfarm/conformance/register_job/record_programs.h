#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_

#include <vector>

#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// On the chip of tests/support/record_chip.h, in its units and as it is:
// records, shifted results, weights and biases in the host's memory, reversed
// bytes, a mover in the engine's window.
std::vector<HandCountedProgram> HandCountedOfRecords();

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_
