#ifndef EK_SIMFARM_SIMULATORS_DLA_STREAM_H_
#define EK_SIMFARM_SIMULATORS_DLA_STREAM_H_

// The simulator of engine model COARSE_DLA (docs/targets/dla.md).

#include <memory>

#include "simfarm/simulators/engine.h"

namespace edgekiln::simfarm::dla {

std::unique_ptr<EngineSimulator> NewSimulator();

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_STREAM_H_
