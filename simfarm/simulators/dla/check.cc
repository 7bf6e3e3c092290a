#include "simfarm/simulators/dla/check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

// The units, which count their commands from 1.
constexpr int kCompute = 0;
constexpr int kDma = 1;

int UnitOf(const Instruction& instruction) {
  return instruction.is_dma() ? kDma : kCompute;
}

absl::Status SramError(const Instruction& instruction,
                       const StreamContext& context, const AccessFault& fault) {
  const std::string other =
      absl::StrCat(fault.unit == kDma ? "DMA" : "compute", " command number ",
                   fault.time, " of the stream");
  return ProgramError(instruction, context, fault.What(other),
                      SramAddress(fault.at));
}

absl::Status SystemError(const Instruction& instruction,
                         const StreamContext& context, const ChipMemory& memory,
                         const AccessFault& fault, int64_t address) {
  return ProgramError(instruction, context, memory.What(fault),
                      memory.Name(address + fault.at));
}

}  // namespace

AccessChecker::AccessChecker(int32_t scratchpad, const StreamContext& context,
                             ChipMemory& memory)
    : context_(context),
      memory_(memory),
      sram_(memory.TrackScratchpad(scratchpad, 2)) {}

absl::Status AccessChecker::Check(const Instruction& instruction) {
  const int unit = UnitOf(instruction);
  sram_.order.Begin(unit, sram_.order.time(unit) + 1);
  sram_.order.Await(unit, unit == kDma ? kCompute : kDma,
                    static_cast<uint32_t>(instruction.wait));
  return unit == kDma ? CheckDma(instruction) : CheckCompute(instruction);
}

absl::Status AccessChecker::CheckCompute(const Instruction& instruction) {
  absl::Status status;
  const TensorView output = OutputView(instruction);
  // In place, element by element: each is read before it is overwritten.
  const auto in_place = [&](const TensorView& input) {
    return IsElementWise(instruction.command) && input.SamePlaces(output);
  };
  const auto read = [&](bool record) {
    return
        [this, &status, &instruction, record](int64_t address, int64_t bytes) {
          status = Read(instruction, address, bytes, record);
          return status.ok();
        };
  };
  const auto read_and_record = read(true);
  const auto read_in_place = read(false);
  const TensorView input = InputView(instruction);
  if (in_place(input)) {
    VisitInput(instruction, read_in_place);
  } else {
    VisitInput(instruction, read_and_record);
  }
  EK_RETURN_IF_ERROR(status);
  if (HasSecondInput(instruction.command)) {
    const TensorView second = Input2View(instruction);
    if (in_place(second)) {
      VisitTensor(second, read_in_place);
    } else {
      VisitTensor(second, read_and_record);
    }
    EK_RETURN_IF_ERROR(status);
  }
  VisitConstants(instruction, read_and_record);
  EK_RETURN_IF_ERROR(status);
  VisitTensor(output, [&](int64_t address, int64_t bytes) {
    status = Write(instruction, address, bytes);
    return status.ok();
  });
  return status;
}

// Each side by itself: mostly one of them is dense.
absl::Status AccessChecker::CheckDma(const Instruction& instruction) {
  absl::Status status;
  if (instruction.command == DlaCommand::kDmaWrite) {
    VisitRows(SramView(instruction), [&](int64_t address, int64_t bytes) {
      status = Read(instruction, address, bytes, true);
      return status.ok();
    });
    EK_RETURN_IF_ERROR(status);
    return CheckSystemWrite(instruction);
  }
  EK_RETURN_IF_ERROR(CheckSystemRead(instruction));
  VisitRows(SramView(instruction), [&](int64_t address, int64_t bytes) {
    status = Write(instruction, address, bytes);
    return status.ok();
  });
  return status;
}

absl::Status AccessChecker::CheckSystemRead(const Instruction& instruction) {
  RowsView view = SystemView(instruction);
  if (view.dense()) view = {view.address, 0, 1, view.extent()};
  AccessFault fault;
  if (memory_.ReadRows(context_.engine, view.address, view.pitch, view.rows,
                       view.row_bytes, &fault)) {
    return absl::OkStatus();
  }
  return SystemError(instruction, context_, memory_, fault, view.address);
}

absl::Status AccessChecker::CheckSystemWrite(const Instruction& instruction) {
  absl::Status status;
  VisitRows(SystemView(instruction), [&](int64_t address, int64_t bytes) {
    AccessFault fault;
    if (memory_.Write(context_.engine, address, bytes, &fault)) return true;
    status = SystemError(instruction, context_, memory_, fault, address);
    return false;
  });
  return status;
}

absl::Status AccessChecker::Read(const Instruction& instruction,
                                 int64_t address, int64_t bytes, bool record) {
  AccessFault fault;
  if (sram_.map.Read(UnitOf(instruction), address, address + bytes, record,
                     &fault)) {
    return absl::OkStatus();
  }
  return SramError(instruction, context_, fault);
}

absl::Status AccessChecker::Write(const Instruction& instruction,
                                  int64_t address, int64_t bytes) {
  const int unit = UnitOf(instruction);
  const int64_t operand = sram_.map.FindReadNow(unit, address, address + bytes);
  if (operand >= 0) {
    return ProgramError(instruction, context_,
                        "the output overlaps the command's own operands",
                        SramAddress(operand));
  }
  AccessFault fault;
  if (sram_.map.Write(unit, address, address + bytes, &fault)) {
    return absl::OkStatus();
  }
  return SramError(instruction, context_, fault);
}

}  // namespace edgekiln::simfarm::dla
