#include "simfarm/simulators/rv32/slow_access.h"

#include <string>

namespace edgekiln::simfarm::rv32 {
namespace {

int WidthOf(Op op) {
  switch (op) {
    case Op::kLb:
    case Op::kLbu:
    case Op::kSb:
      return 1;
    case Op::kLh:
    case Op::kLhu:
    case Op::kSh:
      return 2;
    default:
      return 4;
  }
}

AccessResult Refuse(Stretch* stretch, FaultKind kind, uint32_t address,
                    std::string detail = "") {
  stretch->problem = {kind, address, std::move(detail)};
  return AccessResult::kProblem;
}

AccessResult AccessDevice(Stretch* stretch, const Instruction& instruction,
                          const DeviceWindow& window, uint32_t address,
                          int64_t* wait_cycles) {
  Core& core = *stretch->core;
  const Format format = TraitsOf(instruction.op).format;
  const uint32_t offset = address - window.base;
  const int64_t now = core.cycles;
  const uint32_t pending = stretch->bus->Pending(now);
  if (format == Format::kStore || format == Format::kFStore) {
    const uint32_t value = format == Format::kStore ? core.x[instruction.rs2]
                                                    : core.f[instruction.rs2];
    const absl::Status status = window.device->Write(offset, value, now);
    if (!status.ok()) {
      return Refuse(stretch, FaultKind::kDevice, address,
                    std::string(status.message()));
    }
    stretch->exit_code = window.device->exit_code();
  } else {
    const absl::StatusOr<uint32_t> value = window.device->Read(offset, now);
    if (!value.ok()) {
      return Refuse(stretch, FaultKind::kDevice, address,
                    std::string(value.status().message()));
    }
    if (format == Format::kFLoad) {
      core.f[instruction.rd] = *value;
    } else if (instruction.rd != 0) {
      core.x[instruction.rd] = *value;
    }
  }
  *wait_cycles += window.wait_cycles;
  // A device that writes memory may have changed code as well.
  const bool leaves = stretch->exit_code.has_value() || stretch->code_changed ||
                      stretch->bus->Pending(now) != pending ||
                      stretch->bus->NextEvent(now) < stretch->deadline_cycles;
  return leaves ? AccessResult::kLeave : AccessResult::kDone;
}

}  // namespace

AccessResult AccessSlowly(Stretch* stretch, const Instruction& instruction,
                          Slot* slot, int64_t* wait_cycles) {
  Core& core = *stretch->core;
  Memory& memory = *stretch->memory;
  const Format format = TraitsOf(instruction.op).format;
  const bool is_store = format == Format::kStore || format == Format::kFStore;
  const int width = WidthOf(instruction.op);
  const uint32_t address =
      core.x[instruction.rs1] + static_cast<uint32_t>(instruction.imm);
  Window* window = nullptr;
  const AccessProblem problem = is_store
                                    ? memory.FindStore(address, width, &window)
                                    : memory.FindLoad(address, width, &window);
  switch (problem) {
    case AccessProblem::kNone:
      break;
    case AccessProblem::kMisaligned:
      return Refuse(
          stretch,
          is_store ? FaultKind::kStoreMisaligned : FaultKind::kLoadMisaligned,
          address);
    case AccessProblem::kGuard:
      return Refuse(stretch, FaultKind::kStackOverflow, address);
    default: {
      const DeviceWindow* device = stretch->bus->Find(address);
      if (device != nullptr && width == 4) {
        return AccessDevice(stretch, instruction, *device, address,
                            wait_cycles);
      }
      return Refuse(stretch,
                    is_store ? FaultKind::kStoreAccess : FaultKind::kLoadAccess,
                    address);
    }
  }
  if (!is_store && stretch->checked) {
    const std::optional<uint32_t> undefined =
        memory.FindUndefined(address, width);
    if (undefined.has_value()) {
      return Refuse(stretch, FaultKind::kUndefinedRead, *undefined);
    }
  }
  if (window != nullptr) {
    slot->window = window;
    return AccessResult::kRetry;
  }
  const uint32_t value = format == Format::kStore ? core.x[instruction.rs2]
                                                  : core.f[instruction.rs2];
  *wait_cycles += memory.FindRegion(address)->write_wait_cycles;
  if (!memory.StoreAmongCode(address, width, value)) return AccessResult::kDone;
  stretch->code_changed = true;
  return AccessResult::kLeave;
}

}  // namespace edgekiln::simfarm::rv32
