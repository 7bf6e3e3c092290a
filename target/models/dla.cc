#include "target/models/dla.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "target/memories.h"

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
                                                "DMA_SRAM_PITCH"};
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

// What a tensor in and one out take.
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
                   Reg::kOutZeroPoint, Reg::kFlags});
constexpr auto kConvReluReads = And(kConvReads, kClamps);
constexpr auto kDepthConvReads =
    And(kConvReluReads, std::array{Reg::kDepthMultiplier});
constexpr Reg kMatMulReads[] = {
    Reg::kInAddr,      Reg::kWeightAddr,   Reg::kTableAddr,
    Reg::kOutAddr,     Reg::kInC,          Reg::kOutW,
    Reg::kOutC,        Reg::kInPixelPitch, Reg::kOutPixelPitch,
    Reg::kInZeroPoint, Reg::kOutZeroPoint, Reg::kClampMin,
    Reg::kClampMax,    Reg::kFlags};
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

absl::Status IsaError(std::string what, std::string where, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = "engine model COARSE_DLA (docs/targets/dla.md)",
                    .fix = std::move(fix)});
}

bool Contains(const google::protobuf::RepeatedPtrField<std::string>& names,
              absl::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& n) { return n == name; });
}

absl::Status ValidateCommand(const v1::Isa& isa,
                             const v1::CommandDescriptor& command) {
  const std::string where = absl::StrCat("command ", command.mnemonic());
  const auto known = FindDlaCommand(command.mnemonic());
  if (!known) {
    return IsaError("the engine model has no such command", where, "remove it");
  }
  if (command.unit() != DlaCommandUnit(*known)) {
    return IsaError(
        "wrong unit", where,
        absl::StrCat("unit: ", v1::CommandUnit_Name(DlaCommandUnit(*known))));
  }
  if (command.opcode() == 0) {
    return IsaError("opcode is missing, or 0, which is no command", where,
                    "opcode: 1 or more");
  }
  if (command.unit() == v1::COMPUTE_UNIT &&
      command.kind() == v1::LAYER_KIND_UNSPECIFIED) {
    return IsaError("kind is missing", where,
                    "kind: CONV, DEPTH, REQUANT or OTHER");
  }
  if (command.takes_rounding() && !DlaCommandRounds(*known)) {
    return IsaError("the command rounds nothing", where,
                    "remove takes_rounding");
  }
  for (const DlaRegister reg : DlaCommandReads(*known)) {
    if (!Contains(command.reads(), std::string(DlaRegisterName(reg)))) {
      return IsaError(
          "`reads` leaves out a register that the command depends on", where,
          absl::StrCat("reads: \"", DlaRegisterName(reg), "\""));
    }
    const bool defined = std::any_of(
        isa.registers().begin(), isa.registers().end(),
        [&](const auto& r) { return r.name() == DlaRegisterName(reg); });
    if (!defined) {
      return IsaError(
          "a register that the command reads does not exist", where,
          absl::StrCat("add ", DlaRegisterName(reg), " to `registers`"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view DlaRegisterName(DlaRegister reg) {
  return kRegisterNames[static_cast<int>(reg)];
}

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

namespace {

// Whether values below 0 are written to it.
bool IsSigned(Reg reg) {
  switch (reg) {
    case Reg::kInZeroPoint:
    case Reg::kIn2ZeroPoint:
    case Reg::kOutZeroPoint:
    case Reg::kClampMin:
    case Reg::kClampMax:
    case Reg::kInMultiplier:
    case Reg::kInShift:
    case Reg::kIn2Multiplier:
    case Reg::kIn2Shift:
    case Reg::kOutMultiplier:
    case Reg::kOutShift:
      return true;
    default:
      return false;
  }
}

absl::Status CheckIsa(const v1::Isa& isa) {
  for (const v1::RegisterDescriptor& reg : isa.registers()) {
    const std::string where = absl::StrCat("register ", reg.name());
    const auto known = FindDlaRegister(reg.name());
    if (!known) {
      return IsaError("the engine model has no such register", where,
                      "remove it");
    }
    if (IsSigned(*known) && !reg.is_signed()) {
      return IsaError("is_signed is missing", where, "is_signed: true");
    }
    if (reg.bits() > 32) {
      return IsaError("a register is wider than 32 bits", where, "bits: 32");
    }
  }
  for (const v1::CommandDescriptor& command : isa.commands()) {
    EK_RETURN_IF_ERROR(ValidateCommand(isa, command));
  }
  for (const DlaCommand needed : {DlaCommand::kRegWrite, DlaCommand::kEnd}) {
    const bool present = std::any_of(
        isa.commands().begin(), isa.commands().end(),
        [&](const auto& c) { return c.mnemonic() == DlaCommandName(needed); });
    if (!present) {
      return IsaError("a command that every stream needs is missing",
                      "isa: commands",
                      absl::StrCat("add command ", DlaCommandName(needed)));
    }
  }
  return absl::OkStatus();
}

// An SRAM of its own, and a DMA between it and all of system memory.
absl::Status CheckMemories(const v1::Machine& machine, int32_t engine) {
  const int32_t sram = PrivateMemoryOf(machine, engine);
  if (sram < 0 || !IsWritable(machine.memories(sram))) {
    return IsaError(
        "the engine needs one memory of its own, for activations", "memories",
        absl::StrCat("reached_by: \"", machine.engines(engine).name(),
                     "\" in one memory alone"));
  }
  const v1::ResolvedLink* const dma = OnlyLinkOf(machine, engine);
  if (dma == nullptr || dma->dimensions() < 2) {
    return IsaError(
        "the engine needs one link of its own that moves rows", "links",
        absl::StrCat("a link with owner: \"", machine.engines(engine).name(),
                     "\" and dimensions: 2"));
  }
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (m != sram && !memory.host_reaches()) continue;
    if (!absl::c_linear_search(dma->from(), m)) {
      return IsaError("the engine's link does not read a memory",
                      absl::StrCat("link ", dma->name()),
                      absl::StrCat("from: \"", memory.name(), "\""));
    }
    if (IsWritable(memory) && !absl::c_linear_search(dma->to(), m)) {
      return IsaError("the engine's link does not write a memory",
                      absl::StrCat("link ", dma->name()),
                      absl::StrCat("to: \"", memory.name(), "\""));
    }
  }
  return absl::OkStatus();
}

// The commands without which an engine cannot run a pattern.
std::vector<DlaCommand> NeededCommands(v1::OpPattern::Pattern pattern) {
  switch (pattern) {
    case v1::OpPattern::CONV2D:
      return {DlaCommand::kConv, DlaCommand::kConvRelu};
    case v1::OpPattern::DEPTHWISE_CONV2D:
      return {DlaCommand::kDepthConv};
    case v1::OpPattern::FULLY_CONNECTED:
      return {DlaCommand::kMatMul};
    case v1::OpPattern::ADD:
      return {DlaCommand::kAdd};
    case v1::OpPattern::AVERAGE_POOL2D:
    case v1::OpPattern::MAX_POOL2D:
      return {DlaCommand::kPool};
    default:
      return {};
  }
}

absl::Status PatternError(const v1::OpPattern& pattern, std::string what) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = absl::StrCat("patterns ",
                             v1::OpPattern::Pattern_Name(pattern.pattern())),
       .fix = "correct the file; `edgekiln targets show dla` is a valid one"});
}

// A limit of a pattern, and registers that hold what it is about in one piece.
struct PatternLimit {
  absl::string_view key;
  int64_t value = 0;  // 0: none.
  std::vector<Reg> registers;
};

// Extents of pools and additions are cut into tiles along every axis, and pools
// have no dilation.
std::vector<PatternLimit> LimitsOf(const v1::OpPattern& pattern) {
  const PatternLimit kernel = {
      "max_kernel", pattern.max_kernel(), {Reg::kKernelH, Reg::kKernelW}};
  const PatternLimit stride = {
      "max_stride", pattern.max_stride(), {Reg::kStrideH, Reg::kStrideW}};
  switch (pattern.pattern()) {
    case v1::OpPattern::CONV2D:
    case v1::OpPattern::DEPTHWISE_CONV2D:
      return {kernel,
              stride,
              {"max_dilation",
               pattern.max_dilation(),
               {Reg::kDilationH, Reg::kDilationW}},
              {"max_extent",
               pattern.max_extent(),
               {Reg::kInH, Reg::kInW, Reg::kInC, Reg::kOutH, Reg::kOutW,
                Reg::kOutC}}};
    case v1::OpPattern::FULLY_CONNECTED:
      return {{"max_extent",
               pattern.max_extent(),
               {Reg::kInC, Reg::kOutW, Reg::kOutC}}};
    case v1::OpPattern::AVERAGE_POOL2D:
    case v1::OpPattern::MAX_POOL2D:
      return {kernel, stride};
    default:
      return {};
  }
}

// What an engine is given it must be able to write: without a limit, or with
// one that is too high, layers would be taken that no command can hold.
absl::Status ValidatePatternLimits(const v1::OpPattern& pattern,
                                   const v1::Isa& isa) {
  for (const PatternLimit& limit : LimitsOf(pattern)) {
    for (const Reg reg : limit.registers) {
      const auto found = std::find_if(
          isa.registers().begin(), isa.registers().end(),
          [&](const auto& r) { return r.name() == DlaRegisterName(reg); });
      if (found == isa.registers().end()) continue;  // No command reads it.
      const int64_t most = (int64_t{1} << found->bits()) - 1;
      if (limit.value >= 1 && limit.value <= most) continue;
      return PatternError(
          pattern,
          absl::StrCat(limit.key, " is ",
                       limit.value == 0 ? "missing" : absl::StrCat(limit.value),
                       ", but register ", DlaRegisterName(reg),
                       " holds at most ", most));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidatePatternCommands(const v1::OpPattern& pattern,
                                     const v1::Isa& isa) {
  std::vector<DlaCommand> needed = NeededCommands(pattern.pattern());
  needed.insert(needed.end(), {DlaCommand::kDmaRead, DlaCommand::kDmaWrite});
  for (const DlaCommand command : needed) {
    const absl::string_view name = DlaCommandName(command);
    const auto found =
        std::find_if(isa.commands().begin(), isa.commands().end(),
                     [&](const auto& c) { return c.mnemonic() == name; });
    if (found == isa.commands().end()) {
      return PatternError(pattern,
                          absl::StrCat("the pattern needs command ", name));
    }
    if (pattern.rounds_half_even() && DlaCommandRounds(command) &&
        !found->takes_rounding()) {
      return PatternError(pattern,
                          absl::StrCat("rounds_half_even, but command ", name,
                                       " has no takes_rounding"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<google::protobuf::Any> RepackTileRecipe(
    const google::protobuf::Any& decisions) {
  v1::dla::TileRecipe recipe;
  const std::string name = recipe.GetDescriptor()->full_name();
  const auto invalid = [&](std::string what) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "TARGET_INVALID",
         .what = std::move(what),
         .where = "decisions",
         .need = name,
         .fix = absl::StrCat("write decisions { [type.googleapis.com/", name,
                             "] { serial: true } }")});
  };
  if (!decisions.Is<v1::dla::TileRecipe>()) {
    return invalid("the engine model cannot read the decisions");
  }
  if (!decisions.UnpackTo(&recipe) ||
      !recipe.GetReflection()->GetUnknownFields(recipe).empty()) {
    return invalid("the decisions are not in the form of the message");
  }
  google::protobuf::Any packed;
  packed.PackFrom(recipe);
  return packed;
}

class Model final : public EngineModel {
 public:
  absl::string_view folder() const override { return "dla"; }
  absl::Status ValidateEngine(const v1::Machine& machine,
                              int32_t engine) const override {
    if (!machine.engines(engine).has_isa()) {
      return IsaError("the engine model has an instruction set", "isa",
                      "add isa { .. }");
    }
    EK_RETURN_IF_ERROR(CheckIsa(machine.engines(engine).isa()), "isa");
    return CheckMemories(machine, engine);
  }
  absl::Status ValidatePattern(
      const v1::OpPattern& pattern,
      const v1::Machine::Engine& engine) const override {
    EK_RETURN_IF_ERROR(ValidatePatternCommands(pattern, engine.isa()));
    return ValidatePatternLimits(pattern, engine.isa());
  }
  absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any& decisions) const override {
    return RepackTileRecipe(decisions);
  }
};

}  // namespace

const EngineModel& DlaModel() {
  static const Model* const model = new Model;
  return *model;
}

}  // namespace edgekiln::target
