#ifndef EK_SIMFARM_SIMULATORS_RV32_DEVICES_H_
#define EK_SIMFARM_SIMULATORS_RV32_DEVICES_H_

// The devices that every chip has: docs/targets/rv32.md, section 6.

#include <cstdint>
#include <memory>
#include <string>

#include "simfarm/simulators/mmio_device.h"
#include "simfarm/simulators/rv32/device.h"

namespace edgekiln::simfarm::rv32 {

// The low byte of each word written to offset 0 is a character.
class Console : public Device {
 public:
  // Keeps the first `max_bytes`.
  explicit Console(int64_t max_bytes) : max_bytes_(max_bytes) {}

  absl::StatusOr<uint32_t> Read(uint32_t offset, int64_t now_cycles) override;
  absl::Status Write(uint32_t offset, uint32_t value,
                     int64_t now_cycles) override;

  const std::string& text() const { return text_; }
  // How many more bytes were written.
  int64_t dropped_bytes() const { return dropped_bytes_; }
  void Clear();

 private:
  const int64_t max_bytes_;
  std::string text_;
  int64_t dropped_bytes_ = 0;
};

// 0x5555 written to offset 0 ends the run with code 0, (code << 16 | 0x3333)
// with that code.
class ExitDevice : public Device {
 public:
  absl::StatusOr<uint32_t> Read(uint32_t offset, int64_t now_cycles) override;
  absl::Status Write(uint32_t offset, uint32_t value,
                     int64_t now_cycles) override;
  std::optional<int32_t> exit_code() const override { return code_; }
  void Clear() { code_.reset(); }

 private:
  std::optional<int32_t> code_;
};

inline constexpr int64_t kTimerWindowBytes = 0xc000;

// mtimecmp at 0x4000, mtime at 0xbff8, two words each. mtime counts cycles
// divided by `divider`, at least 1, and is read-only. The line is high while
// mtime >= mtimecmp, which is all ones at first.
class Timer : public Device {
 public:
  explicit Timer(int64_t divider) : divider_(divider) {}

  absl::StatusOr<uint32_t> Read(uint32_t offset, int64_t now_cycles) override;
  absl::Status Write(uint32_t offset, uint32_t value,
                     int64_t now_cycles) override;
  bool Interrupts(int64_t now_cycles) const override;
  int64_t NextEvent(int64_t now_cycles) const override;

 private:
  const int64_t divider_;
  uint64_t compare_ = ~uint64_t{0};
};

// Attaches an engine that the host drives. A started job ends, and the status
// shows it, as many cycles after the start as the engine says, times
// `core_cycles_per_engine_cycle`, at least 1. The line is high while a job has
// ended and none was started since. `engine`, which was reset, must outlive it.
std::unique_ptr<Device> NewEngineDevice(MmioDevice* engine,
                                        int64_t core_cycles_per_engine_cycle);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_DEVICES_H_
