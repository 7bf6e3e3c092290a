#ifndef EK_SIMFARM_SIMULATORS_REGISTER_JOB_DEVICE_H_
#define EK_SIMFARM_SIMULATORS_REGISTER_JOB_DEVICE_H_

#include <memory>

#include "simfarm/simulators/engine.h"

namespace edgekiln::simfarm::register_job {

// The simulator of engine model REGISTER_JOB (docs/targets/register_job.md).
std::unique_ptr<EngineSimulator> NewSimulator();

}  // namespace edgekiln::simfarm::register_job

#endif  // EK_SIMFARM_SIMULATORS_REGISTER_JOB_DEVICE_H_
