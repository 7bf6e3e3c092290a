#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RANDOM_JOBS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RANDOM_JOBS_H_

#include <cstdint>

#include "base/rng.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/register_job/job_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// A toy chip with random blocks, rates and costs.
v1::Machine RandomMachine(Rng& rng);

// What programs use of each memory that the engine reaches.
inline constexpr int64_t kRandomMemoryBytes = 1 << 16;

// `jobs` legal jobs of random kernels of the engine, each with operands of its
// own. Registers that a kernel ignores get random values; registers that hold
// the right value already are often not written again.
JobProgram RandomProgram(const v1::Machine& machine, int32_t engine, int jobs,
                         Rng& rng);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RANDOM_JOBS_H_
