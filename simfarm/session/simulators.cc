#include "simfarm/session/simulators.h"

#include "simfarm/simulators/dla/stream.h"
#include "simfarm/simulators/register_job/device.h"

namespace edgekiln::simfarm {

// All engine models that can be simulated, one case each.
std::unique_ptr<EngineSimulator> NewSimulatorOf(
    v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return dla::NewSimulator();
    case v1::EngineDescriptor::REGISTER_JOB:
      return register_job::NewSimulator();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::simfarm
