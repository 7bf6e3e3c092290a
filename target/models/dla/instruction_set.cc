#include "target/models/dla/instruction_set.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;
// By DlaRegister: those that an instruction set has.
using Registers = std::bitset<kNumDlaRegisters>;

// `next`: where it stands if names follow each other as they are asked for.
bool Contains(const Names& names, absl::string_view name, int& next) {
  if (next < names.size() && names[next] == name) {
    ++next;
    return true;
  }
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& n) { return n == name; });
}

absl::Status ValidateCommand(const Registers& registers,
                             const v1::CommandDescriptor& command) {
  const auto where = [&command] {
    return absl::StrCat("command ", command.mnemonic());
  };
  const auto known = FindDlaCommand(command.mnemonic());
  if (!known) {
    return DlaError("the engine model has no such command", where(),
                    "remove it");
  }
  if (command.unit() != DlaCommandUnit(*known)) {
    return DlaError(
        "wrong unit", where(),
        absl::StrCat("unit: ", v1::CommandUnit_Name(DlaCommandUnit(*known))));
  }
  if (command.opcode() == 0) {
    return DlaError("opcode is missing or 0", where(), "opcode: 1 or more");
  }
  if (command.unit() == v1::COMPUTE_UNIT &&
      command.kind() == v1::LAYER_KIND_UNSPECIFIED) {
    return DlaError("kind is missing", where(),
                    "kind: CONV, DEPTH, REQUANT or OTHER");
  }
  if (command.takes_rounding() && !DlaCommandRounds(*known)) {
    return DlaError("the command rounds nothing", where(),
                    "remove takes_rounding");
  }
  int next = 0;
  for (const DlaRegister reg : DlaCommandReads(*known)) {
    const bool exists = registers[static_cast<size_t>(reg)];
    if (IsOptional(reg) && !exists) continue;
    if (!Contains(command.reads(), DlaRegisterName(reg), next)) {
      return DlaError(
          "`reads` leaves out a register that the command depends on", where(),
          absl::StrCat("reads: \"", DlaRegisterName(reg), "\""));
    }
    if (!exists) {
      return DlaError(
          "a register that the command reads does not exist", where(),
          absl::StrCat("add ", DlaRegisterName(reg), " to `registers`"));
    }
  }
  return absl::OkStatus();
}

// Whether values below 0 are written to it.
bool IsSigned(DlaRegister reg) {
  switch (reg) {
    case DlaRegister::kInZeroPoint:
    case DlaRegister::kIn2ZeroPoint:
    case DlaRegister::kOutZeroPoint:
    case DlaRegister::kWeightZeroPoint:
    case DlaRegister::kClampMin:
    case DlaRegister::kClampMax:
    case DlaRegister::kInMultiplier:
    case DlaRegister::kInShift:
    case DlaRegister::kIn2Multiplier:
    case DlaRegister::kIn2Shift:
    case DlaRegister::kOutMultiplier:
    case DlaRegister::kOutShift:
      return true;
    default:
      return false;
  }
}

// What layers of any shape write to it.
int LeastBits(DlaRegister reg) {
  switch (reg) {
    case DlaRegister::kInZeroPoint:
    case DlaRegister::kIn2ZeroPoint:
    case DlaRegister::kOutZeroPoint:
    case DlaRegister::kWeightZeroPoint:
    case DlaRegister::kClampMin:
    case DlaRegister::kClampMax:
      return 8;
    case DlaRegister::kInMultiplier:
    case DlaRegister::kIn2Multiplier:
    case DlaRegister::kOutMultiplier:
      return 32;
    case DlaRegister::kInShift:
    case DlaRegister::kIn2Shift:
    case DlaRegister::kOutShift:
      return 6;
    case DlaRegister::kLeftShift:
      return 5;
    case DlaRegister::kPoolKind:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

absl::Status DlaError(std::string what, std::string where, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = "engine model COARSE_DLA (docs/targets/dla.md)",
                    .fix = std::move(fix)});
}

const v1::CommandDescriptor* FindCommand(const v1::Isa& isa,
                                         DlaCommand command) {
  const absl::string_view name = DlaCommandName(command);
  for (const v1::CommandDescriptor& candidate : isa.commands()) {
    if (candidate.mnemonic() == name) return &candidate;
  }
  return nullptr;
}

const v1::RegisterDescriptor* FindRegister(const v1::Isa& isa,
                                           DlaRegister reg) {
  const absl::string_view name = DlaRegisterName(reg);
  for (const v1::RegisterDescriptor& candidate : isa.registers()) {
    if (candidate.name() == name) return &candidate;
  }
  return nullptr;
}

absl::Status CheckDlaInstructions(const v1::Isa& isa) {
  Registers registers;
  for (const v1::RegisterDescriptor& reg : isa.registers()) {
    const auto where = [&reg] { return absl::StrCat("register ", reg.name()); };
    const auto known = FindDlaRegister(reg.name());
    if (!known) {
      return DlaError("the engine model has no such register", where(),
                      "remove it");
    }
    registers.set(static_cast<size_t>(*known));
    if (IsSigned(*known) && !reg.is_signed()) {
      return DlaError("is_signed is missing", where(), "is_signed: true");
    }
    if (reg.bits() < LeastBits(*known)) {
      return DlaError("a register is too narrow for what layers write to it",
                      where(), absl::StrCat("bits: ", LeastBits(*known)));
    }
    if (reg.bits() > 32) {
      return DlaError("a register is wider than 32 bits", where(), "bits: 32");
    }
  }
  for (const v1::CommandDescriptor& command : isa.commands()) {
    EK_RETURN_IF_ERROR(ValidateCommand(registers, command));
  }
  for (const DlaCommand needed : {DlaCommand::kRegWrite, DlaCommand::kEnd}) {
    if (FindCommand(isa, needed) == nullptr) {
      return DlaError("a command that every stream needs is missing",
                      "isa: commands",
                      absl::StrCat("add command ", DlaCommandName(needed)));
    }
  }
  return absl::OkStatus();
}

std::vector<DlaCommand> DlaCommandsOf(absl::string_view op,
                                      const v1::Isa& isa) {
  if (op == "depthwise_conv2d" &&
      FindCommand(isa, DlaCommand::kDepthConv) != nullptr) {
    return {DlaCommand::kDepthConv};
  }
  if (op == "conv2d" || op == "depthwise_conv2d") {
    return {DlaCommand::kConv, DlaCommand::kConvRelu};
  }
  if (op == "fully_connected") return {DlaCommand::kMatMul};
  if (op == "add") return {DlaCommand::kAdd};
  if (op == "requantize") return {DlaCommand::kRequant};
  if (op == "clip") return {DlaCommand::kActRelu};
  if (op == "leaky_relu") return {DlaCommand::kActLrelu};
  if (op == "abs") return {DlaCommand::kAbs};
  if (op == "minimum") return {DlaCommand::kMin};
  if (op == "maximum") return {DlaCommand::kMax};
  if (op == "average_pool2d" || op == "max_pool2d") return {DlaCommand::kPool};
  return {};
}

}  // namespace edgekiln::target
