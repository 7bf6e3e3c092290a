#include "simfarm/simulators/engine.h"

namespace edgekiln::simfarm {

absl::StatusOr<std::unique_ptr<EngineStream>> EngineSimulator::Load(
    absl::string_view /*code*/, const v1::Machine& /*machine*/,
    StreamContext /*context*/) const {
  return absl::UnimplementedError("the host drives engines of this model");
}

absl::StatusOr<std::unique_ptr<MmioDevice>> EngineSimulator::NewDevice(
    const v1::Machine& /*machine*/, ChipMemory& /*memory*/,
    DeviceContext /*context*/) const {
  return absl::UnimplementedError("engines of this model run streams");
}

}  // namespace edgekiln::simfarm
