#ifndef EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_
#define EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_

// What a session needs of an engine that the host drives: its registers.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm {

struct DeviceContext {
  int32_t engine = 0;  // Index into Machine.engines; who accesses memory.
  CpuPath cpu_path = CpuPath::kBest;
};

// One engine of one chip, which computes one job at a time. It keeps no time:
// a job that was started is busy until Complete(). What registers hold, and how
// long jobs take, never depends on values in memory. Not thread-safe.
class MmioDevice {
 public:
  virtual ~MmioDevice() = default;

  // Begins a run in this mode: no job, registers as they are after power-up.
  // Before the first call nothing else may be called. In kCheckOnly the memory
  // has no bytes, and perhaps tracks nothing: what does not depend on values is
  // checked all the same, and every byte that a job reads or writes is told to
  // the memory by ReadIn() and WriteIn().
  virtual void Reset(RunMode mode) = 0;

  // The host writes a register. A write that starts a job does all of the job's
  // work at once, as far as the mode has it done, and returns how long it
  // takes: cycles of the engine's clock, at least 1. FAILED_PRECONDITION names
  // the register: none has this offset, its value is no legal one, the engine
  // is busy, or what is wrong with the job (operand, memory, address).
  virtual absl::StatusOr<std::optional<int64_t>> Write(uint32_t offset,
                                                       uint32_t value) = 0;

  // What the host reads there now. FAILED_PRECONDITION if no register has this
  // offset.
  virtual absl::StatusOr<uint32_t> Read(uint32_t offset) = 0;

  // The time of the running job is over: from now on, registers say so.
  virtual void Complete() = 0;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_
