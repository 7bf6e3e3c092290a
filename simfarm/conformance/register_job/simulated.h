#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_SIMULATED_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_SIMULATED_H_

#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/register_job/job_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// Runs the simulator three ways, which must agree (GoogleTest): without values,
// with checks, and fast.
JobOutcome RunSimulator(const v1::Machine& machine, int32_t engine,
                        const JobProgram& program);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_SIMULATED_H_
