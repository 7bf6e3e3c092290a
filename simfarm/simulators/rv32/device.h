#ifndef EK_SIMFARM_SIMULATORS_RV32_DEVICE_H_
#define EK_SIMFARM_SIMULATORS_RV32_DEVICE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace edgekiln::simfarm::rv32 {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// What the core reaches by loads and stores of whole words outside of memory.
// Time is the core's cycle count; it never goes back, and a device that is not
// asked sees none of it pass. Not thread-safe.
class Device {
 public:
  virtual ~Device() = default;

  // `offset` is a multiple of 4 below the size of the device's window. An error
  // (there is no such register, the value is wrong, a job fails) ends the run.
  virtual absl::StatusOr<uint32_t> Read(uint32_t offset,
                                        int64_t now_cycles) = 0;
  virtual absl::Status Write(uint32_t offset, uint32_t value,
                             int64_t now_cycles) = 0;

  // The interrupt line at `now_cycles`.
  virtual bool Interrupts(int64_t /*now_cycles*/) const { return false; }
  // The first cycle behind `now_cycles` at which Interrupts() changes although
  // nobody writes; kNever if there is none.
  virtual int64_t NextEvent(int64_t /*now_cycles*/) const { return kNever; }

  // Set: the run ends with this code.
  virtual std::optional<int32_t> exit_code() const { return std::nullopt; }
};

// Which bit of mip a device drives.
enum class InterruptLine { kNone, kTimer, kExternal };

// Where a device is. Windows overlap neither memory nor each other; base and
// size are multiples of 4.
struct DeviceWindow {
  std::string name{};  // For errors.
  uint32_t base = 0;
  int64_t size_bytes = 4;
  Device* device = nullptr;  // Must outlive the machine.
  InterruptLine line = InterruptLine::kNone;
  int32_t wait_cycles = 0;  // Per access, where a cost table is used.
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_DEVICE_H_
