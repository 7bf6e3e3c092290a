#include "simfarm/simulators/dla/instruction.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/error.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

bool IsInt32In(DlaCommand command) {
  return command == DlaCommand::kAdd32 || command == DlaCommand::kShift32 ||
         command == DlaCommand::kRequant;
}

}  // namespace

bool IsConvolution(DlaCommand command) {
  return command == DlaCommand::kConv || command == DlaCommand::kConvRelu ||
         command == DlaCommand::kDepthConv;
}

bool IsWindowed(DlaCommand command) {
  return IsConvolution(command) || command == DlaCommand::kPool;
}

bool HasTable(DlaCommand command) {
  return IsConvolution(command) || command == DlaCommand::kMatMul ||
         command == DlaCommand::kRequant;
}

bool HasSecondInput(DlaCommand command) {
  return command == DlaCommand::kMin || command == DlaCommand::kMax ||
         command == DlaCommand::kAdd || command == DlaCommand::kAdd32;
}

bool IsElementWise(DlaCommand command) {
  return !IsWindowed(command) && command != DlaCommand::kMatMul &&
         command != DlaCommand::kDmaRead && command != DlaCommand::kDmaWrite;
}

bool WritesInt32(const Instruction& instruction) {
  return (IsConvolution(instruction.command) ||
          instruction.command == DlaCommand::kMatMul) &&
         (instruction[Reg::kFlags] & target::kDlaOutInt32) != 0;
}

bool RoundsInMode(const Instruction& instruction) {
  return !WritesInt32(instruction) &&
         (instruction.command != DlaCommand::kPool ||
          instruction[Reg::kPoolKind] != target::kDlaPoolMax);
}

TensorView InputView(const Instruction& i) {
  TensorView view{.address = i[Reg::kInAddr],
                  .row_pitch = i[Reg::kInRowPitch],
                  .pixel_pitch = i[Reg::kInPixelPitch],
                  .h = i[Reg::kOutH],
                  .w = i[Reg::kOutW],
                  .c = i[Reg::kOutC],
                  .element_bytes = IsInt32In(i.command) ? 4 : 1};
  if (IsWindowed(i.command)) {
    view.h = i[Reg::kInH];
    view.w = i[Reg::kInW];
  }
  if (i.command == DlaCommand::kDepthConv) {
    view.c = (i[Reg::kOutC] - 1) / i[Reg::kDepthMultiplier] + 1;
  } else if (IsConvolution(i.command)) {
    view.c = i[Reg::kInC];
  } else if (i.command == DlaCommand::kMatMul) {
    view.row_pitch = 0;
    view.h = 1;
    view.c = i[Reg::kInC];
  }
  return view;
}

TensorView Input2View(const Instruction& i) {
  TensorView view = InputView(i);
  view.address = i[Reg::kIn2Addr];
  view.row_pitch = i[Reg::kIn2RowPitch];
  view.pixel_pitch = i[Reg::kIn2PixelPitch];
  return view;
}

TensorView OutputView(const Instruction& i) {
  TensorView view{.address = i[Reg::kOutAddr],
                  .row_pitch = i[Reg::kOutRowPitch],
                  .pixel_pitch = i[Reg::kOutPixelPitch],
                  .h = i[Reg::kOutH],
                  .w = i[Reg::kOutW],
                  .c = i[Reg::kOutC]};
  if (i.command == DlaCommand::kMatMul) {
    view.row_pitch = 0;
    view.h = 1;
  }
  if (i.command == DlaCommand::kAdd32 || i.command == DlaCommand::kShift32 ||
      WritesInt32(i)) {
    view.element_bytes = 4;
  }
  return view;
}

int64_t WeightBytes(const Instruction& i) {
  std::optional<int64_t> bytes = 0;
  switch (i.command) {
    case DlaCommand::kConv:
    case DlaCommand::kConvRelu:
      bytes = CheckedProduct(
          {i[Reg::kOutC], i[Reg::kKernelH], i[Reg::kKernelW], i[Reg::kInC]});
      break;
    case DlaCommand::kDepthConv:
      bytes =
          CheckedProduct({i[Reg::kOutC], i[Reg::kKernelH], i[Reg::kKernelW]});
      break;
    case DlaCommand::kMatMul:
      bytes = CheckedProduct({i[Reg::kOutC], i[Reg::kInC]});
      break;
    default:
      break;
  }
  // What overflows is larger than any memory, as is this.
  return bytes.value_or(int64_t{1} << 48);
}

absl::Status ProgramError(const Instruction& instruction,
                          const StreamContext& context, std::string what,
                          const std::string& address, std::string limit) {
  std::string where =
      absl::StrCat("command ", instruction.word, " (",
                   target::DlaCommandName(instruction.command), ")");
  if (!address.empty()) absl::StrAppend(&where, ", ", address);
  if (context.layer_name) {
    absl::StrAppend(&where, ", layer ", context.layer_name(instruction.word));
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

std::string SramAddress(int64_t address) {
  return absl::StrFormat("SRAM 0x%x", address);
}

std::string SystemAddress(int64_t address) {
  return absl::StrFormat("system memory 0x%x", address);
}

}  // namespace edgekiln::simfarm::dla
