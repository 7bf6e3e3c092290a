#ifndef EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_
#define EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_

// What a session needs of an engine that the host drives: its registers.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/program.pb.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm {

struct DeviceContext {
  int32_t engine = 0;  // Index into Machine.engines; who accesses memory.
  CpuPath cpu_path = CpuPath::kBest;
};

// One engine of one chip, which computes one job at a time. It does not keep
// time: a started job runs until Complete(). Register values and job durations
// never depend on values in memory. Not thread-safe.
class MmioDevice {
 public:
  virtual ~MmioDevice() = default;

  // Begins a run in this mode: no job, registers as after power-up. Must be
  // called first. In kCheckOnly the memory has no bytes and may not track
  // accesses; everything that does not depend on values is checked all the
  // same, and every byte that a job reads or writes is reported by ReadIn() and
  // WriteIn().
  virtual void Reset(RunMode mode) = 0;

  // The host stores the record that the next job reads, for engines that read
  // one. FAILED_PRECONDITION if the engine reads none, or another number of
  // words, if it is busy, and if the bytes cannot be written.
  virtual absl::Status StoreRecord(const v1::Location& location,
                                   absl::Span<const uint32_t> words);

  // The host writes a register. A write that starts a job computes it at once,
  // as far as the mode requires, and returns its duration: cycles of the
  // engine's clock, at least 1. FAILED_PRECONDITION if no register has this
  // offset, the value is illegal or the engine is busy, or if the job is wrong:
  // names register, operand, memory and address.
  virtual absl::StatusOr<std::optional<int64_t>> Write(uint32_t offset,
                                                       uint32_t value) = 0;

  // What the host reads there now. FAILED_PRECONDITION if no register has this
  // offset.
  virtual absl::StatusOr<uint32_t> Read(uint32_t offset) = 0;

  // Ends the running job: the status register shows it from now on.
  virtual void Complete() = 0;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_MMIO_DEVICE_H_
