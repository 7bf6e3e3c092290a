#include "simfarm/session/simulators.h"

#include "absl/strings/str_cat.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/simulators/dla/stream.h"
#include "simfarm/simulators/register_job/device.h"

namespace edgekiln::simfarm {

// All engine models that can be simulated, one case each.
absl::StatusOr<std::unique_ptr<EngineSimulator>> NewSimulator(
    const v1::Machine::Engine& engine) {
  switch (engine.model()) {
    case v1::EngineDescriptor::COARSE_DLA:
      return dla::NewSimulator();
    case v1::EngineDescriptor::REGISTER_JOB:
      return register_job::NewSimulator();
    default:
      return InvalidProgram("the engine's model cannot be simulated",
                            absl::StrCat("engine ", engine.name()));
  }
}

}  // namespace edgekiln::simfarm
