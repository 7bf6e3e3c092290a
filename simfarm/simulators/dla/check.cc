#include "simfarm/simulators/dla/check.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

constexpr uint32_t kDmaBit = 1;

// A write that nobody can still race with, whoever did it.
constexpr uint32_t kSettledWrite = kDmaBit;

// The number of the last write if the other unit did it, else 0.
uint32_t OtherWrite(uint32_t write, uint32_t own_bit) {
  return (write & kDmaBit) == own_bit ? 0 : write >> 1;
}

}  // namespace

AccessChecker::AccessChecker(int64_t sram_bytes, const StreamContext& context,
                             SystemMemory& memory)
    : context_(context), memory_(memory), sram_(sram_bytes) {}

absl::Status AccessChecker::Check(const Instruction& instruction) {
  const uint32_t wait = static_cast<uint32_t>(instruction.wait);
  if (instruction.is_dma()) {
    ++dma_number_;
    dma_knows_compute_ = std::max(dma_knows_compute_, wait);
    return CheckDma(instruction);
  }
  ++compute_number_;
  compute_knows_dma_ = std::max(compute_knows_dma_, wait);
  return CheckCompute(instruction);
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
    VisitRows(SystemView(instruction), [&](int64_t address, int64_t bytes) {
      memory_.MarkDefined(address, bytes);
      return true;
    });
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(CheckSystemRead(instruction));
  VisitRows(SramView(instruction), [&](int64_t address, int64_t bytes) {
    status = Write(instruction, address, bytes);
    return status.ok();
  });
  return status;
}

absl::Status AccessChecker::CheckSystemRead(
    const Instruction& instruction) const {
  const RowsView view = SystemView(instruction);
  // Where the gaps between rows are defined, too, rows need no look of theirs.
  if (memory_.FindUndefined(view.address, view.extent()) < 0) {
    return absl::OkStatus();
  }
  absl::Status status;
  VisitRows(view, [&](int64_t address, int64_t bytes) {
    const int64_t hole = memory_.FindUndefined(address, bytes);
    if (hole < 0) return true;
    status =
        ProgramError(instruction, context_, "reads a byte that nothing wrote",
                     SystemAddress(address + hole));
    return false;
  });
  return status;
}

AccessChecker::Unit AccessChecker::UnitOf(
    const Instruction& instruction) const {
  if (instruction.is_dma()) {
    return {true, kDmaBit, dma_number_, dma_knows_compute_};
  }
  return {false, 0, compute_number_, compute_knows_dma_};
}

// Forgets what can no longer matter, because both units are ordered after it:
// spans that differ in nothing else become one.
AccessChecker::ByteState AccessChecker::Settled(ByteState state) const {
  const bool by_dma = (state.write & kDmaBit) != 0;
  const uint32_t known = by_dma ? compute_knows_dma_ : dma_knows_compute_;
  if (state.write != 0 && state.write >> 1 <= known) {
    state.write = kSettledWrite;
  }
  if (state.compute_read <= dma_knows_compute_) state.compute_read = 0;
  if (state.dma_read <= compute_knows_dma_) state.dma_read = 0;
  return state;
}

absl::Status AccessChecker::Read(const Instruction& instruction,
                                 int64_t address, int64_t bytes, bool record) {
  const Unit unit = UnitOf(instruction);
  absl::Status status;
  sram_.ForEach(address, address + bytes,
                [&](int64_t begin, int64_t, const ByteState& state) {
                  if (state.write == 0 ||
                      OtherWrite(state.write, unit.own_bit) > unit.known) {
                    status = ReadError(instruction, unit, begin, state);
                  }
                  return status.ok();
                });
  if (!status.ok() || !record) return status;
  sram_.Transform(address, address + bytes, [&](const ByteState& state) {
    ByteState read = Settled(state);
    (unit.dma ? read.dma_read : read.compute_read) = unit.number;
    return read;
  });
  return status;
}

absl::Status AccessChecker::ReadError(const Instruction& instruction,
                                      const Unit& unit, int64_t address,
                                      const ByteState& state) const {
  if (state.write == 0) {
    return ProgramError(instruction, context_,
                        "reads a byte that nothing wrote",
                        SramAddress(address));
  }
  return ProgramError(
      instruction, context_,
      absl::StrCat("race: reads a byte while ", unit.dma ? "compute" : "DMA",
                   " command number ", state.write >> 1,
                   " of the stream may still write it"),
      SramAddress(address));
}

absl::Status AccessChecker::Write(const Instruction& instruction,
                                  int64_t address, int64_t bytes) {
  const Unit unit = UnitOf(instruction);
  absl::Status status;
  sram_.AssignIf(address, address + bytes,
                 ByteState{unit.number << 1 | unit.own_bit, 0, 0},
                 [&](int64_t begin, int64_t, const ByteState& state) {
                   const uint32_t other =
                       std::max(OtherWrite(state.write, unit.own_bit),
                                unit.dma ? state.compute_read : state.dma_read);
                   // A DMA command has no operands in SRAM besides what it
                   // writes.
                   const bool own_operand =
                       !unit.dma && state.compute_read == unit.number;
                   if (other <= unit.known && !own_operand) return true;
                   status = WriteError(instruction, unit, begin, state);
                   return false;
                 });
  return status;
}

absl::Status AccessChecker::WriteError(const Instruction& instruction,
                                       const Unit& unit, int64_t address,
                                       const ByteState& state) const {
  const uint32_t other =
      std::max(OtherWrite(state.write, unit.own_bit),
               unit.dma ? state.compute_read : state.dma_read);
  if (other > unit.known) {
    return ProgramError(
        instruction, context_,
        absl::StrCat("race: writes a byte while ", unit.dma ? "compute" : "DMA",
                     " command number ", other,
                     " of the stream may still use it"),
        SramAddress(address));
  }
  return ProgramError(instruction, context_,
                      "the output overlaps the command's own operands",
                      SramAddress(address));
}

int64_t AccessChecker::FindUndefined(int64_t address, int64_t size) const {
  int64_t hole = -1;
  const int64_t end = std::min(address + size, sram_.size());
  sram_.ForEach(address, end,
                [&](int64_t begin, int64_t, const ByteState& state) {
                  if (state.write == 0) hole = begin - address;
                  return hole < 0;
                });
  if (hole < 0 && end < address + size)
    hole = std::max<int64_t>(0, end - address);
  return hole;
}

}  // namespace edgekiln::simfarm::dla
