#ifndef EK_SIMFARM_SIMULATORS_RV32_BUS_H_
#define EK_SIMFARM_SIMULATORS_RV32_BUS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "simfarm/simulators/rv32/device.h"
#include "simfarm/simulators/rv32/memory.h"

namespace edgekiln::simfarm::rv32 {

// The devices of one core. Not thread-safe.
class Bus {
 public:
  // INVALID_ARGUMENT names the window that is misaligned, empty, has no device
  // or overlaps another one or a region.
  static absl::StatusOr<Bus> Create(std::vector<DeviceWindow> windows,
                                    const std::vector<MemoryRegion>& regions);

  // The window with this word, or null.
  const DeviceWindow* Find(uint32_t address) const;
  // The interrupt lines as bits of mip.
  uint32_t Pending(int64_t now_cycles) const;
  // The first cycle behind `now_cycles` at which Pending() may change.
  int64_t NextEvent(int64_t now_cycles) const;
  int64_t max_wait_cycles() const;

 private:
  explicit Bus(std::vector<DeviceWindow> windows)
      : windows_(std::move(windows)) {}
  std::vector<DeviceWindow> windows_;
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_BUS_H_
