#include "simfarm/session/simulators.h"

#include "simfarm/simulators/dla/stream.h"
#include "simfarm/simulators/register_job/device.h"
#include "testing/tiny_vector/simulator/stream.h"

namespace edgekiln::simfarm {

// simfarm/session/simulators.cc, and the tutorial's.
std::unique_ptr<EngineSimulator> NewSimulatorOf(
    v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return dla::NewSimulator();
    case v1::EngineDescriptor::REGISTER_JOB:
      return register_job::NewSimulator();
    case v1::EngineDescriptor::TINY_VECTOR:
      return tiny_vector::NewSimulator();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::simfarm
