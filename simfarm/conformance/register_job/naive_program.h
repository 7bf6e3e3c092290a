#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PROGRAM_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PROGRAM_H_

#include <vector>

#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// One inference of a program of moves, register writes and polls on engines
// that the host drives, by docs/targets/register_job.md and docs/design/0022:
// computed one byte and one cycle at a time. All clocks of the machine are
// equal. Costs of moves come from target/move_cost.h. Layouts are not checked;
// host ops and streams are refused.
ProgramOutcome RunNaiveProgram(const ProgramCase& program,
                               std::vector<StepTrace>* trace);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PROGRAM_H_
