#include "simfarm/simulators/rv32/bus.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "simfarm/simulators/rv32/core.h"

namespace edgekiln::simfarm::rv32 {
namespace {

absl::Status WindowError(std::string what, const DeviceWindow& window) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "RV32_DEVICE",
                    .what = std::move(what),
                    .where = absl::StrCat("device ", window.name)});
}

bool Overlap(int64_t base, int64_t size, int64_t other, int64_t other_size) {
  return base < other + other_size && other < base + size;
}

absl::Status CheckWindow(const DeviceWindow& window) {
  if (window.device == nullptr) return WindowError("is missing", window);
  if (window.size_bytes <= 0 || window.size_bytes % 4 != 0 ||
      window.base % 4 != 0) {
    return WindowError("base and size must be multiples of 4, size > 0",
                       window);
  }
  if (window.size_bytes > (int64_t{1} << 32) - window.base) {
    return WindowError("does not fit the address space", window);
  }
  if (window.wait_cycles < 0) {
    return WindowError("wait cycles must not be negative", window);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Bus> Bus::Create(std::vector<DeviceWindow> windows,
                                const std::vector<MemoryRegion>& regions) {
  for (size_t i = 0; i < windows.size(); ++i) {
    const DeviceWindow& window = windows[i];
    if (absl::Status status = CheckWindow(window); !status.ok()) return status;
    for (const MemoryRegion& region : regions) {
      if (Overlap(window.base, window.size_bytes, region.base,
                  region.size_bytes)) {
        return WindowError(absl::StrCat("overlaps memory ", region.name),
                           window);
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(window.base, window.size_bytes, windows[j].base,
                  windows[j].size_bytes)) {
        return WindowError(absl::StrCat("overlaps device ", windows[j].name),
                           window);
      }
    }
  }
  return Bus(std::move(windows));
}

const DeviceWindow* Bus::Find(uint32_t address) const {
  for (const DeviceWindow& window : windows_) {
    if (int64_t{address} - window.base >= 0 &&
        int64_t{address} - window.base < window.size_bytes) {
      return &window;
    }
  }
  return nullptr;
}

uint32_t Bus::Pending(int64_t now_cycles) const {
  uint32_t pending = 0;
  for (const DeviceWindow& window : windows_) {
    if (window.line == InterruptLine::kNone ||
        !window.device->Interrupts(now_cycles)) {
      continue;
    }
    pending |= window.line == InterruptLine::kTimer ? kTimerInterrupt
                                                    : kExternalInterrupt;
  }
  return pending;
}

int64_t Bus::NextEvent(int64_t now_cycles) const {
  int64_t next = kNever;
  for (const DeviceWindow& window : windows_) {
    if (window.line == InterruptLine::kNone) continue;
    next = std::min(next, window.device->NextEvent(now_cycles));
  }
  return next;
}

int64_t Bus::max_wait_cycles() const {
  int64_t cycles = 0;
  for (const DeviceWindow& window : windows_) {
    cycles = std::max<int64_t>(cycles, window.wait_cycles);
  }
  return cycles;
}

}  // namespace edgekiln::simfarm::rv32
