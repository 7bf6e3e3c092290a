#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_

#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/register_job/job_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// The engine as docs/targets/register_job.md says, one element and one cycle
// after the other. Takes layouts for legal that give two elements one byte.
JobOutcome RunNaive(const v1::Machine& machine, int32_t engine,
                    const JobProgram& program);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_
