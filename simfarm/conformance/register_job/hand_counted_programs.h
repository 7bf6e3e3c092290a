#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_

#include <vector>

#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// On toy-array-unit, on the same with slower links, writes and polls, and on
// toy-two-array-unit.
std::vector<HandCountedProgram> HandCountedOfOneEngine();
std::vector<HandCountedProgram> HandCountedOfTwoEngines();

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_
