#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_DIANA_ANALOG_PROGRAMS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_DIANA_ANALOG_PROGRAMS_H_

#include <vector>

#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// On diana-analog-unit.
std::vector<HandCountedProgram> HandCountedOfAnalogDiana();

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_DIANA_ANALOG_PROGRAMS_H_
