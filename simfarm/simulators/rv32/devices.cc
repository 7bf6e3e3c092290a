#include "simfarm/simulators/rv32/devices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr uint32_t kCompareOffset = 0x4000;
constexpr uint32_t kTimeOffset = 0xbff8;

absl::Status RegisterError(std::string what, uint32_t offset) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.reason = "RV32_DEVICE",
                    .what = std::move(what),
                    .where = absl::StrFormat("register 0x%x", offset)});
}

class EngineDevice : public Device {
 public:
  EngineDevice(MmioDevice* engine, int64_t core_cycles_per_engine_cycle)
      : engine_(engine), cycle_ratio_(core_cycles_per_engine_cycle) {}

  absl::StatusOr<uint32_t> Read(uint32_t offset, int64_t now_cycles) override {
    CompleteUntil(now_cycles);
    return engine_->Read(offset);
  }

  absl::Status Write(uint32_t offset, uint32_t value,
                     int64_t now_cycles) override {
    CompleteUntil(now_cycles);
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> duration,
                        engine_->Write(offset, value));
    if (!duration.has_value()) return absl::OkStatus();
    const std::optional<int64_t> cycles = CheckedMul(*duration, cycle_ratio_);
    if (!cycles.has_value() || *cycles >= kNever - now_cycles) {
      return RegisterError("the job takes too long", offset);
    }
    done_at_ = now_cycles + *cycles;
    completed_ = false;
    return absl::OkStatus();
  }

  bool Interrupts(int64_t now_cycles) const override {
    return now_cycles >= done_at_;
  }
  int64_t NextEvent(int64_t now_cycles) const override {
    return now_cycles >= done_at_ ? kNever : done_at_;
  }

 private:
  void CompleteUntil(int64_t now_cycles) {
    if (completed_ || now_cycles < done_at_) return;
    engine_->Complete();
    completed_ = true;
  }

  MmioDevice* const engine_;
  const int64_t cycle_ratio_;
  int64_t done_at_ = kNever;  // Of the last job.
  bool completed_ = true;
};

}  // namespace

absl::StatusOr<uint32_t> Console::Read(uint32_t offset, int64_t /*now*/) {
  return RegisterError("the console has nothing to read", offset);
}

absl::Status Console::Write(uint32_t offset, uint32_t value, int64_t /*now*/) {
  if (offset != 0) return RegisterError("no register of the console", offset);
  if (static_cast<int64_t>(text_.size()) >= max_bytes_) {
    ++dropped_bytes_;
    return absl::OkStatus();
  }
  text_.push_back(static_cast<char>(value & 0xff));
  return absl::OkStatus();
}

void Console::Clear() {
  text_.clear();
  dropped_bytes_ = 0;
}

absl::StatusOr<uint32_t> ExitDevice::Read(uint32_t offset, int64_t /*now*/) {
  return RegisterError("the exit device has nothing to read", offset);
}

absl::Status ExitDevice::Write(uint32_t offset, uint32_t value,
                               int64_t /*now*/) {
  if (offset == 0 && value == 0x5555) {
    code_ = 0;
    return absl::OkStatus();
  }
  if (offset == 0 && (value & 0xffff) == 0x3333) {
    code_ = static_cast<int32_t>(value >> 16);
    return absl::OkStatus();
  }
  return RegisterError(absl::StrFormat("0x%x ends nothing", value), offset);
}

absl::StatusOr<uint32_t> Timer::Read(uint32_t offset, int64_t now_cycles) {
  const auto time = static_cast<uint64_t>(now_cycles / divider_);
  switch (offset) {
    case kCompareOffset:
      return static_cast<uint32_t>(compare_);
    case kCompareOffset + 4:
      return static_cast<uint32_t>(compare_ >> 32);
    case kTimeOffset:
      return static_cast<uint32_t>(time);
    case kTimeOffset + 4:
      return static_cast<uint32_t>(time >> 32);
    default:
      return RegisterError("no register of the timer", offset);
  }
}

absl::Status Timer::Write(uint32_t offset, uint32_t value, int64_t /*now*/) {
  constexpr uint64_t kLow = 0xffffffff;
  if (offset == kCompareOffset) {
    compare_ = (compare_ & ~kLow) | value;
  } else if (offset == kCompareOffset + 4) {
    compare_ = (compare_ & kLow) | uint64_t{value} << 32;
  } else {
    return RegisterError("no register of the timer that can be written",
                         offset);
  }
  return absl::OkStatus();
}

bool Timer::Interrupts(int64_t now_cycles) const {
  return static_cast<uint64_t>(now_cycles / divider_) >= compare_;
}

int64_t Timer::NextEvent(int64_t now_cycles) const {
  if (Interrupts(now_cycles)) return kNever;
  const auto limit = static_cast<uint64_t>(kNever / divider_);
  return compare_ > limit ? kNever : static_cast<int64_t>(compare_) * divider_;
}

std::unique_ptr<Device> NewEngineDevice(MmioDevice* engine,
                                        int64_t core_cycles_per_engine_cycle) {
  return std::make_unique<EngineDevice>(engine, core_cycles_per_engine_cycle);
}

}  // namespace edgekiln::simfarm::rv32
