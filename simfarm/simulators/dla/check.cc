#include "simfarm/simulators/dla/check.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

constexpr uint32_t kDmaBit = 1;

// The loops below collect sign bits instead of comparing: they are vectorised.
// Numbers of commands stay below 2^28, what a stream's code can hold.
constexpr uint32_t kSignBit = uint32_t{1} << 31;
constexpr uint32_t kNoNumber = uint32_t{1} << 30;

// Sign bit: `number` is above `known`.
uint32_t IsAbove(uint32_t number, uint32_t known) { return known - number; }

// The number of the last write if the other unit did it, else 0.
uint32_t OtherWrite(uint32_t write, uint32_t own_bit) {
  return (write >> 1) & -((write ^ own_bit) & kDmaBit);
}

}  // namespace

AccessChecker::AccessChecker(int64_t sram_bytes, const StreamContext& context,
                             SystemMemory& memory)
    : context_(context),
      memory_(memory),
      sram_bytes_(sram_bytes),
      storage_(3 * sram_bytes * static_cast<int64_t>(sizeof(uint32_t))),
      write_(reinterpret_cast<uint32_t*>(storage_.data())),
      compute_read_(write_ + sram_bytes),
      dma_read_(compute_read_ + sram_bytes) {}

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

absl::Status AccessChecker::CheckDma(const Instruction& instruction) {
  absl::Status status;
  const bool to_sram = instruction.command == DlaCommand::kDmaRead;
  VisitTransfer(instruction, [&](int64_t system, int64_t sram, int64_t bytes) {
    if (!to_sram) {
      status = Read(instruction, sram, bytes, true);
      memory_.MarkDefined(system, bytes);
      return status.ok();
    }
    const int64_t hole = memory_.FindUndefined(system, bytes);
    status = hole < 0 ? Write(instruction, sram, bytes)
                      : ProgramError(instruction, context_,
                                     "reads a byte that nothing wrote",
                                     SystemAddress(system + hole));
    return status.ok();
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

absl::Status AccessChecker::Read(const Instruction& instruction,
                                 int64_t address, int64_t bytes, bool record) {
  const Unit unit = UnitOf(instruction);
  const uint32_t* write = write_ + address;
  uint32_t bad = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    // Of a byte that nothing wrote, write - 1 has the sign bit.
    bad |= (write[i] - 1) |
           IsAbove(OtherWrite(write[i], unit.own_bit), unit.known);
  }
  if ((bad & kSignBit) == 0) {
    uint32_t* read = (unit.dma ? dma_read_ : compute_read_) + address;
    if (record) std::fill_n(read, bytes, unit.number);
    return absl::OkStatus();
  }
  int64_t at = address;
  while (write_[at] != 0 &&
         OtherWrite(write_[at], unit.own_bit) <= unit.known) {
    ++at;
  }
  if (write_[at] == 0) {
    return ProgramError(instruction, context_,
                        "reads a byte that nothing wrote", SramAddress(at));
  }
  return ProgramError(
      instruction, context_,
      absl::StrCat("race: reads a byte while ", unit.dma ? "compute" : "DMA",
                   " command number ", write_[at] >> 1,
                   " of the stream may still write it"),
      SramAddress(at));
}

absl::Status AccessChecker::Write(const Instruction& instruction,
                                  int64_t address, int64_t bytes) {
  const Unit unit = UnitOf(instruction);
  const uint32_t* write = write_ + address;
  const uint32_t* compute_read = compute_read_ + address;
  const uint32_t* other_read = unit.dma ? compute_read : dma_read_ + address;
  // A DMA command has no operands in SRAM besides what it writes.
  const uint32_t own_operand = unit.dma ? kNoNumber : unit.number;
  uint32_t bad = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    bad |= IsAbove(OtherWrite(write[i], unit.own_bit), unit.known) |
           IsAbove(other_read[i], unit.known) |
           IsAbove(compute_read[i] + 1, own_operand);
  }
  if ((bad & kSignBit) == 0) {
    std::fill_n(write_ + address, bytes, unit.number << 1 | unit.own_bit);
    std::fill_n(compute_read_ + address, bytes, 0);
    std::fill_n(dma_read_ + address, bytes, 0);
    return absl::OkStatus();
  }
  const auto other_last = [&](int64_t i) {
    return std::max(other_read[i], OtherWrite(write[i], unit.own_bit));
  };
  int64_t i = 0;
  while (other_last(i) <= unit.known && compute_read[i] != own_operand) ++i;
  if (other_last(i) > unit.known) {
    return ProgramError(
        instruction, context_,
        absl::StrCat("race: writes a byte while ", unit.dma ? "compute" : "DMA",
                     " command number ", other_last(i),
                     " of the stream may still use it"),
        SramAddress(address + i));
  }
  return ProgramError(instruction, context_,
                      "the output overlaps the command's own operands",
                      SramAddress(address + i));
}

int64_t AccessChecker::FindUndefined(int64_t address, int64_t size) const {
  for (int64_t at = address; at < address + size; ++at) {
    if (at >= sram_bytes_ || write_[at] == 0) return at - address;
  }
  return -1;
}

}  // namespace edgekiln::simfarm::dla
