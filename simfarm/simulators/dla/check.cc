#include "simfarm/simulators/dla/check.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

constexpr uint32_t kDmaBit = 1;

}  // namespace

AccessChecker::AccessChecker(int64_t sram_bytes, const StreamContext& context,
                             SystemMemory& memory)
    : context_(context),
      memory_(memory),
      storage_(sram_bytes * static_cast<int64_t>(sizeof(Byte))),
      bytes_(reinterpret_cast<Byte*>(storage_.data())),
      sram_bytes_(sram_bytes) {}

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

absl::Status AccessChecker::Read(const Instruction& instruction,
                                 int64_t address, int64_t bytes, bool record) {
  const bool dma = instruction.is_dma();
  const uint32_t number = dma ? dma_number_ : compute_number_;
  const uint32_t known = dma ? dma_knows_compute_ : compute_knows_dma_;
  const uint32_t own_bit = dma ? kDmaBit : 0;
  for (int64_t at = address; at < address + bytes; ++at) {
    Byte& byte = bytes_[at];
    if (byte.write == 0) {
      return ProgramError(instruction, context_,
                          "reads a byte that nothing wrote", SramAddress(at));
    }
    if ((byte.write & kDmaBit) != own_bit && byte.write >> 1 > known) {
      return ProgramError(
          instruction, context_,
          absl::StrCat("race: reads a byte while ", dma ? "compute" : "DMA",
                       " command number ", byte.write >> 1,
                       " of the stream may still write it"),
          SramAddress(at));
    }
    if (record) (dma ? byte.dma_read : byte.compute_read) = number;
  }
  return absl::OkStatus();
}

absl::Status AccessChecker::Write(const Instruction& instruction,
                                  int64_t address, int64_t bytes) {
  const bool dma = instruction.is_dma();
  const uint32_t number = dma ? dma_number_ : compute_number_;
  const uint32_t known = dma ? dma_knows_compute_ : compute_knows_dma_;
  const uint32_t own_bit = dma ? kDmaBit : 0;
  for (int64_t at = address; at < address + bytes; ++at) {
    Byte& byte = bytes_[at];
    const bool other_wrote =
        byte.write != 0 && (byte.write & kDmaBit) != own_bit;
    const uint32_t other_last =
        std::max(dma ? byte.compute_read : byte.dma_read,
                 other_wrote ? byte.write >> 1 : 0);
    if (other_last > known) {
      return ProgramError(
          instruction, context_,
          absl::StrCat("race: writes a byte while ", dma ? "compute" : "DMA",
                       " command number ", other_last,
                       " of the stream may still use it"),
          SramAddress(at));
    }
    if (!dma && byte.compute_read == number) {
      return ProgramError(instruction, context_,
                          "the output overlaps the command's own operands",
                          SramAddress(at));
    }
    byte = {number << 1 | own_bit, 0, 0};
  }
  return absl::OkStatus();
}

int64_t AccessChecker::FindUndefined(int64_t address, int64_t size) const {
  for (int64_t at = address; at < address + size; ++at) {
    if (at >= sram_bytes_ || bytes_[at].write == 0) return at - address;
  }
  return -1;
}

}  // namespace edgekiln::simfarm::dla
