#include "absl/strings/str_cat.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/simulators.h"

namespace edgekiln::simfarm {

absl::StatusOr<std::unique_ptr<EngineSimulator>> NewSimulator(
    const v1::Machine::Engine& engine) {
  std::unique_ptr<EngineSimulator> simulator = NewSimulatorOf(engine.model());
  if (simulator != nullptr) return simulator;
  return InvalidProgram("the engine's model cannot be simulated",
                        absl::StrCat("engine ", engine.name()));
}

}  // namespace edgekiln::simfarm
