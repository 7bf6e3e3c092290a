#ifndef EK_SIMFARM_SESSION_SIMULATORS_H_
#define EK_SIMFARM_SESSION_SIMULATORS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/engine.h"

namespace edgekiln::simfarm {

// Makes simulators of engines.
using SimulatorMaker =
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<EngineSimulator>>(
        const v1::Machine::Engine&)>;

// The simulator of that engine model; null if there is none. Defined in
// simulators.cc alone; tests may link testing/engines/simulators.cc instead,
// which lists more.
std::unique_ptr<EngineSimulator> NewSimulatorOf(
    v1::EngineDescriptor::Model model);

// The simulator of the engine's model. INVALID_ARGUMENT if there is none.
absl::StatusOr<std::unique_ptr<EngineSimulator>> NewSimulator(
    const v1::Machine::Engine& engine);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_SIMULATORS_H_
