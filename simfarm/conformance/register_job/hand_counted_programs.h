#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// On toy-array-unit, on the same with slower links, writes and polls, and on
// toy-two-array-unit.
std::vector<HandCountedProgram> HandCountedOfOneEngine();
std::vector<HandCountedProgram> HandCountedOfTwoEngines();

// On toy-shift-unit, rounding down or half up; on `engine` of a chip, which has
// a converter; on toy-int4-unit.
std::vector<HandCountedProgram> HandCountedOfShifts(bool down);
std::vector<HandCountedProgram> HandCountedOfConverters(const std::string& chip,
                                                        int32_t engine);
std::vector<HandCountedProgram> HandCountedOfInt4();

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_HAND_COUNTED_PROGRAMS_H_
