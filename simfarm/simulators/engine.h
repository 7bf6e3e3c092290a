#ifndef EK_SIMFARM_SIMULATORS_ENGINE_H_
#define EK_SIMFARM_SIMULATORS_ENGINE_H_

// The simulator of an engine model: what a session asks for. An engine runs
// command streams, or the host drives it by its registers; its simulator has
// one of the two.

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/engine_stream.h"
#include "simfarm/simulators/mmio_device.h"

namespace edgekiln::simfarm {

// Stateless, hence thread-safe.
class EngineSimulator {
 public:
  virtual ~EngineSimulator() = default;

  // Decodes `code` and checks everything that does not depend on what ran
  // before: encodings, operands, addresses; times it. `code` is hostile;
  // `machine` passed ValidateMachine() and `context.engine` is one of its
  // engines of this model. FAILED_PRECONDITION names command, address, layer.
  // UNIMPLEMENTED if the host drives such engines.
  virtual absl::StatusOr<std::unique_ptr<EngineStream>> Load(
      absl::string_view code, const v1::Machine& machine,
      StreamContext context) const;

  // An engine of `machine`, which passed ValidateMachine(), that works on
  // `memory`, where memories are numbered as in the machine. Both must outlive
  // it. UNIMPLEMENTED if such engines run streams.
  virtual absl::StatusOr<std::unique_ptr<MmioDevice>> NewDevice(
      const v1::Machine& machine, ChipMemory& memory,
      DeviceContext context) const;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_ENGINE_H_
