#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_

#include <vector>

#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// On the chip of tests/support/record_chip.h, in its units and as it is:
// records, shifted results, weights and biases in the host's memory, reversed
// bytes, a mover in the engine's window.
std::vector<HandCountedProgram> HandCountedOfRecords(
    const v1::Machine& in_units, const v1::Machine& as_it_is);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAMS_H_
