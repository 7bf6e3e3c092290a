#include "target/models/dla/commands.h"

#include <algorithm>
#include <array>

namespace edgekiln::target {
namespace {

using Reg = DlaRegister;

constexpr absl::string_view kRegisterNames[] = {"IN_ADDR",
                                                "IN2_ADDR",
                                                "WEIGHT_ADDR",
                                                "TABLE_ADDR",
                                                "OUT_ADDR",
                                                "IN_H",
                                                "IN_W",
                                                "IN_C",
                                                "OUT_H",
                                                "OUT_W",
                                                "OUT_C",
                                                "KERNEL_H",
                                                "KERNEL_W",
                                                "STRIDE_H",
                                                "STRIDE_W",
                                                "DILATION_H",
                                                "DILATION_W",
                                                "PAD_TOP",
                                                "PAD_LEFT",
                                                "IN_ROW_PITCH",
                                                "IN_PIXEL_PITCH",
                                                "OUT_ROW_PITCH",
                                                "OUT_PIXEL_PITCH",
                                                "IN2_ROW_PITCH",
                                                "IN2_PIXEL_PITCH",
                                                "IN_ZERO_POINT",
                                                "IN2_ZERO_POINT",
                                                "OUT_ZERO_POINT",
                                                "CLAMP_MIN",
                                                "CLAMP_MAX",
                                                "DEPTH_MULTIPLIER",
                                                "IN_MULTIPLIER",
                                                "IN_SHIFT",
                                                "IN2_MULTIPLIER",
                                                "IN2_SHIFT",
                                                "OUT_MULTIPLIER",
                                                "OUT_SHIFT",
                                                "LEFT_SHIFT",
                                                "FLAGS",
                                                "POOL_KIND",
                                                "DMA_SYSTEM_ADDR",
                                                "DMA_SRAM_ADDR",
                                                "DMA_ROW_BYTES",
                                                "DMA_ROWS",
                                                "DMA_SYSTEM_PITCH",
                                                "DMA_SRAM_PITCH",
                                                "WEIGHT_ZERO_POINT"};
static_assert(std::size(kRegisterNames) == kNumDlaRegisters);

// Registers in the order of the enum, of two lists.
template <size_t kFirst, size_t kSecond>
constexpr std::array<Reg, kFirst + kSecond> And(
    const std::array<Reg, kFirst>& first,
    const std::array<Reg, kSecond>& second) {
  std::array<Reg, kFirst + kSecond> all = {};
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(second.begin(), second.end(), all.begin() + kFirst);
  std::sort(all.begin(), all.end());
  return all;
}

// Registers of an input and an output tensor.
constexpr std::array kImageReads = {
    Reg::kInAddr,       Reg::kOutAddr,     Reg::kOutH,
    Reg::kOutW,         Reg::kOutC,        Reg::kInRowPitch,
    Reg::kInPixelPitch, Reg::kOutRowPitch, Reg::kOutPixelPitch};
constexpr std::array kClamps = {Reg::kClampMin, Reg::kClampMax};
constexpr auto kConvReads =
    And(kImageReads,
        std::array{Reg::kWeightAddr, Reg::kTableAddr, Reg::kInH, Reg::kInW,
                   Reg::kInC, Reg::kKernelH, Reg::kKernelW, Reg::kStrideH,
                   Reg::kStrideW, Reg::kDilationH, Reg::kDilationW,
                   Reg::kPadTop, Reg::kPadLeft, Reg::kInZeroPoint,
                   Reg::kOutZeroPoint, Reg::kFlags, Reg::kWeightZeroPoint});
constexpr auto kConvReluReads = And(kConvReads, kClamps);
constexpr auto kDepthConvReads =
    And(kConvReluReads, std::array{Reg::kDepthMultiplier});
constexpr Reg kMatMulReads[] = {
    Reg::kInAddr,      Reg::kWeightAddr,   Reg::kTableAddr,
    Reg::kOutAddr,     Reg::kInC,          Reg::kOutW,
    Reg::kOutC,        Reg::kInPixelPitch, Reg::kOutPixelPitch,
    Reg::kInZeroPoint, Reg::kOutZeroPoint, Reg::kClampMin,
    Reg::kClampMax,    Reg::kFlags,        Reg::kWeightZeroPoint};
constexpr auto kReluReads = And(kImageReads, std::array{Reg::kInZeroPoint});
constexpr auto kLreluReads =
    And(kReluReads, std::array{Reg::kInMultiplier, Reg::kInShift});
constexpr auto kPoolReads =
    And(And(kImageReads, kClamps),
        std::array{Reg::kInH, Reg::kInW, Reg::kKernelH, Reg::kKernelW,
                   Reg::kStrideH, Reg::kStrideW, Reg::kPadTop, Reg::kPadLeft,
                   Reg::kInZeroPoint, Reg::kPoolKind});
constexpr auto kTwoInputReads =
    And(kImageReads,
        std::array{Reg::kIn2Addr, Reg::kIn2RowPitch, Reg::kIn2PixelPitch});
constexpr auto kAddReads =
    And(And(kTwoInputReads, kClamps),
        std::array{Reg::kInZeroPoint, Reg::kIn2ZeroPoint, Reg::kOutZeroPoint,
                   Reg::kInMultiplier, Reg::kInShift, Reg::kIn2Multiplier,
                   Reg::kIn2Shift, Reg::kOutMultiplier, Reg::kOutShift,
                   Reg::kLeftShift});
constexpr auto kShift32Reads = And(kImageReads, std::array{Reg::kInShift});
constexpr auto kRequantReads = And(
    And(kImageReads, kClamps), std::array{Reg::kTableAddr, Reg::kOutZeroPoint});
constexpr Reg kDmaReads[] = {Reg::kDmaSystemAddr,  Reg::kDmaSramAddr,
                             Reg::kDmaRowBytes,    Reg::kDmaRows,
                             Reg::kDmaSystemPitch, Reg::kDmaSramPitch};

struct CommandRow {
  absl::string_view mnemonic;
  v1::CommandUnit unit;
  absl::Span<const Reg> reads;
};

// In the order of DlaCommand.
const CommandRow kCommands[] = {
    {"REG_WRITE", v1::CONTROL_UNIT, {}},
    {"OP_END", v1::CONTROL_UNIT, {}},
    {"OP_CONV", v1::COMPUTE_UNIT, kConvReads},
    {"OP_CONV_RELU", v1::COMPUTE_UNIT, kConvReluReads},
    {"OP_DEPTH_CONV", v1::COMPUTE_UNIT, kDepthConvReads},
    {"OP_MAT_MUL", v1::COMPUTE_UNIT, kMatMulReads},
    {"OP_ACT_RELU", v1::COMPUTE_UNIT, kReluReads},
    {"OP_ACT_LRELU", v1::COMPUTE_UNIT, kLreluReads},
    {"OP_POOL", v1::COMPUTE_UNIT, kPoolReads},
    {"OP_E_ABS", v1::COMPUTE_UNIT, kReluReads},
    {"OP_C_MIN", v1::COMPUTE_UNIT, kTwoInputReads},
    {"OP_C_MAX", v1::COMPUTE_UNIT, kTwoInputReads},
    {"OP_E_ADD", v1::COMPUTE_UNIT, kAddReads},
    {"OP_E32_ADD", v1::COMPUTE_UNIT, kTwoInputReads},
    {"OP_E32_SHIFT", v1::COMPUTE_UNIT, kShift32Reads},
    {"OP_REQUANT", v1::COMPUTE_UNIT, kRequantReads},
    {"OP_DMA_READ", v1::DMA_UNIT, kDmaReads},
    {"OP_DMA_WRITE", v1::DMA_UNIT, kDmaReads},
};
static_assert(std::size(kCommands) == kNumDlaCommands);

const CommandRow& Row(DlaCommand command) {
  return kCommands[static_cast<int>(command)];
}

}  // namespace

absl::string_view DlaRegisterName(DlaRegister reg) {
  return kRegisterNames[static_cast<int>(reg)];
}

bool IsOptional(DlaRegister reg) { return reg == Reg::kWeightZeroPoint; }

absl::string_view DlaCommandName(DlaCommand command) {
  return Row(command).mnemonic;
}

v1::CommandUnit DlaCommandUnit(DlaCommand command) { return Row(command).unit; }

bool DlaCommandRounds(DlaCommand command) {
  switch (command) {
    case DlaCommand::kConv:
    case DlaCommand::kConvRelu:
    case DlaCommand::kDepthConv:
    case DlaCommand::kMatMul:
    case DlaCommand::kActLrelu:
    case DlaCommand::kPool:
    case DlaCommand::kAdd:
    case DlaCommand::kRequant:
      return true;
    default:
      return false;
  }
}

std::optional<DlaRegister> FindDlaRegister(absl::string_view name) {
  for (int i = 0; i < kNumDlaRegisters; ++i) {
    if (kRegisterNames[i] == name) return static_cast<DlaRegister>(i);
  }
  return std::nullopt;
}

std::optional<DlaCommand> FindDlaCommand(absl::string_view mnemonic) {
  for (int i = 0; i < kNumDlaCommands; ++i) {
    if (kCommands[i].mnemonic == mnemonic) return static_cast<DlaCommand>(i);
  }
  return std::nullopt;
}

absl::Span<const DlaRegister> DlaCommandReads(DlaCommand command) {
  return Row(command).reads;
}

}  // namespace edgekiln::target
