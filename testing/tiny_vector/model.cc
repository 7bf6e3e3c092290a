#include "testing/tiny_vector/model.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/memories.h"
#include "target/pattern_ops.h"

namespace edgekiln::target::tiny_vector {
namespace {

// A register, and the bits that the compiler relies on.
struct RegisterRow {
  absl::string_view name;
  int bits;
  bool is_signed;
};

// In the order of Register.
constexpr RegisterRow kRegisters[] = {{"SYSTEM_ADDR", 32, false},
                                      {"SYSTEM_PITCH", 32, false},
                                      {"PIECES", 16, false},
                                      {"PIECE_BYTES", 16, false},
                                      {"A", 32, false},
                                      {"B", 32, false},
                                      {"VECTORS", 32, false},
                                      {"A_ZERO", 8, true},
                                      {"B_ZERO", 8, true},
                                      {"OUT_ZERO", 8, true},
                                      {"A_MULTIPLIER", 31, false},
                                      {"A_SHIFT", 8, true},
                                      {"B_MULTIPLIER", 31, false},
                                      {"B_SHIFT", 8, true},
                                      {"OUT_MULTIPLIER", 31, false},
                                      {"OUT_SHIFT", 8, true},
                                      {"CLAMP_MIN", 8, true},
                                      {"CLAMP_MAX", 8, true}};
static_assert(std::size(kRegisters) == kNumRegisters);

constexpr Register kTransferA[] = {Register::kSystemAddress,
                                   Register::kSystemPitch, Register::kPieces,
                                   Register::kPieceBytes, Register::kA};
constexpr Register kTransferB[] = {Register::kSystemAddress,
                                   Register::kSystemPitch, Register::kPieces,
                                   Register::kPieceBytes, Register::kB};
constexpr Register kFillReads[] = {Register::kB, Register::kVectors,
                                   Register::kClampMin};
constexpr Register kMaxReads[] = {Register::kA, Register::kB,
                                  Register::kVectors, Register::kClampMin,
                                  Register::kClampMax};
constexpr Register kAddReads[] = {Register::kA,
                                  Register::kB,
                                  Register::kVectors,
                                  Register::kAZero,
                                  Register::kBZero,
                                  Register::kOutZero,
                                  Register::kAMultiplier,
                                  Register::kAShift,
                                  Register::kBMultiplier,
                                  Register::kBShift,
                                  Register::kOutMultiplier,
                                  Register::kOutShift,
                                  Register::kClampMin,
                                  Register::kClampMax};

struct CommandRow {
  absl::string_view mnemonic;
  v1::CommandUnit unit;
  absl::Span<const Register> reads;
};

// In the order of Command.
const CommandRow kCommands[] = {
    {"REG_WRITE", v1::CONTROL_UNIT, {}},
    {"END", v1::CONTROL_UNIT, {}},
    {"LOAD_A", v1::DMA_UNIT, kTransferA},
    {"LOAD_B", v1::DMA_UNIT, kTransferB},
    {"STORE", v1::DMA_UNIT, kTransferB},
    {"FILL", v1::COMPUTE_UNIT, kFillReads},
    {"MAX", v1::COMPUTE_UNIT, kMaxReads},
    {"ADD", v1::COMPUTE_UNIT, kAddReads},
};
static_assert(std::size(kCommands) == kNumCommands);

absl::Status Invalid(std::string what, std::string where, std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = std::move(where),
       .limit = "engine model TINY_VECTOR (testing/tiny_vector/tiny_vector.md)",
       .fix = std::move(fix)});
}

// All registers of the model, as wide as it has them.
absl::Status CheckRegisters(const v1::Isa& isa) {
  for (const v1::RegisterDescriptor& reg : isa.registers()) {
    if (FindRegister(reg.name())) continue;
    return Invalid("the engine model has no such register",
                   absl::StrCat("register ", reg.name()), "remove it");
  }
  for (const RegisterRow& row : kRegisters) {
    const auto found = absl::c_find_if(
        isa.registers(), [&](const auto& r) { return r.name() == row.name; });
    const std::string where = absl::StrCat("registers: ", row.name);
    if (found == isa.registers().end()) {
      return Invalid("a register is missing", where, "add it");
    }
    if (found->bits() != row.bits) {
      return Invalid("wrong bits", where, absl::StrCat("bits: ", row.bits));
    }
    if (found->is_signed() != row.is_signed) {
      return Invalid("wrong is_signed", where,
                     row.is_signed ? "is_signed: true" : "remove is_signed");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCommand(const v1::CommandDescriptor& command) {
  const std::string where = absl::StrCat("command ", command.mnemonic());
  const auto known = FindCommand(command.mnemonic());
  if (!known) {
    return Invalid("the engine model has no such command", where, "remove it");
  }
  const CommandRow& row = kCommands[static_cast<int>(*known)];
  if (command.unit() != row.unit) {
    return Invalid("wrong unit", where,
                   absl::StrCat("unit: ", v1::CommandUnit_Name(row.unit)));
  }
  if (command.opcode() == 0) {
    return Invalid("opcode is missing or 0", where, "opcode: 1 or more");
  }
  if (command.unit() == v1::COMPUTE_UNIT &&
      command.kind() == v1::LAYER_KIND_UNSPECIFIED) {
    return Invalid("kind is missing", where, "kind: OTHER");
  }
  if (command.takes_rounding()) {
    return Invalid("the engine rounds half up only", where,
                   "remove takes_rounding");
  }
  for (const Register reg : row.reads) {
    if (absl::c_linear_search(command.reads(), RegisterName(reg))) continue;
    return Invalid("`reads` leaves out a register that the command depends on",
                   where, absl::StrCat("reads: \"", RegisterName(reg), "\""));
  }
  return absl::OkStatus();
}

absl::Status CheckCommands(const v1::Isa& isa) {
  for (const v1::CommandDescriptor& command : isa.commands()) {
    EK_RETURN_IF_ERROR(CheckCommand(command));
  }
  for (const CommandRow& row : kCommands) {
    if (absl::c_any_of(isa.commands(), [&](const auto& c) {
          return c.mnemonic() == row.mnemonic;
        })) {
      continue;
    }
    return Invalid("a command is missing",
                   absl::StrCat("commands: ", row.mnemonic), "add it");
  }
  return absl::OkStatus();
}

absl::Status CheckBanks(const v1::Machine& machine, int32_t engine) {
  const std::vector<int32_t> banks = PrivateMemoriesOf(machine, engine);
  const std::string& name = machine.engines(engine).name();
  if (banks.size() != 2) {
    return Invalid("the engine needs two memories of its own", "memories",
                   absl::StrCat("reached_by: \"", name, "\" in two of them"));
  }
  const v1::ResolvedMemory& a = machine.memories(banks[0]);
  const v1::ResolvedMemory& b = machine.memories(banks[1]);
  for (const v1::ResolvedMemory* const bank : {&a, &b}) {
    if (IsWritable(*bank)) continue;
    return Invalid("a bank does not hold activations",
                   absl::StrCat("memory ", bank->name()), "holds: ACTIVATIONS");
  }
  if (a.alignment_bytes() != b.alignment_bytes()) {
    return Invalid("the vectors of the two banks differ",
                   absl::StrCat("memory ", b.name(), ": alignment_bytes"),
                   absl::StrCat("alignment_bytes: ", a.alignment_bytes()));
  }
  return absl::OkStatus();
}

// A link between both banks and all of system memory.
absl::Status CheckLink(const v1::Machine& machine, int32_t engine) {
  const v1::ResolvedLink* const link = OnlyLinkOf(machine, engine);
  if (link == nullptr || link->dimensions() < 2) {
    return Invalid(
        "the engine needs one link of its own that moves pieces", "links",
        absl::StrCat("a link with owner: \"", machine.engines(engine).name(),
                     "\" and dimensions: 2"));
  }
  if (link->contention() != v1::LinkDescriptor::BLOCKING) {
    return Invalid("the engine does nothing else while bytes move",
                   absl::StrCat("link ", link->name()), "contention: BLOCKING");
  }
  const std::vector<int32_t> banks = PrivateMemoriesOf(machine, engine);
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    const bool bank = absl::c_linear_search(banks, m);
    if (!bank && !memory.host_reaches()) continue;
    // Results are in bank B.
    if (m != banks[0] && !absl::c_linear_search(link->from(), m)) {
      return Invalid("the engine's link does not read a memory",
                     absl::StrCat("link ", link->name()),
                     absl::StrCat("from: \"", memory.name(), "\""));
    }
    if (IsWritable(memory) && !absl::c_linear_search(link->to(), m)) {
      return Invalid("the engine's link does not write a memory",
                     absl::StrCat("link ", link->name()),
                     absl::StrCat("to: \"", memory.name(), "\""));
    }
  }
  return absl::OkStatus();
}

// What the lanes compute: section 4 of the page.
absl::Status CheckPattern(const v1::OpPattern& pattern) {
  const std::string where = absl::StrCat("patterns ", ChainName(pattern));
  for (const std::string& op : pattern.ops()) {
    if (op == "add" || op == "max_pool2d") continue;
    return Invalid(absl::StrCat("ops: no command computes ", op), where,
                   "remove the pattern");
  }
  const v1::Numerics& numerics = pattern.numerics();
  if (numerics.activations_size() != 1 || numerics.activations(0) != v1::INT8) {
    return Invalid("numerics: activations: lanes are int8", where,
                   "activations: INT8");
  }
  if (numerics.roundings_size() != 1 || numerics.roundings(0) != v1::HALF_UP) {
    return Invalid("numerics: roundings: the engine rounds half up", where,
                   "roundings: HALF_UP");
  }
  if (numerics.requantization() == v1::Numerics::NOT_REQUANTIZED) {
    return Invalid("numerics: requantization: the commands requantize", where,
                   "requantization: MULTIPLIER_AND_SHIFT");
  }
  return absl::OkStatus();
}

class TinyVectorModel final : public EngineModel {
 public:
  absl::string_view folder() const override { return "tiny_vector"; }

  absl::Status ValidateEngine(const v1::Machine& machine,
                              int32_t engine) const override {
    if (!machine.engines(engine).has_isa()) {
      return Invalid("the engine model has an instruction set", "isa",
                     "add isa { .. }");
    }
    const v1::Isa& isa = machine.engines(engine).isa();
    EK_RETURN_IF_ERROR(CheckRegisters(isa), "isa");
    EK_RETURN_IF_ERROR(CheckCommands(isa), "isa");
    EK_RETURN_IF_ERROR(CheckBanks(machine, engine));
    return CheckLink(machine, engine);
  }

  absl::Status ValidatePattern(const v1::OpPattern& pattern,
                               const v1::Machine& /*machine*/,
                               int32_t /*engine*/) const override {
    return CheckPattern(pattern);
  }

  absl::StatusOr<std::vector<v1::OpPattern::Condition>> ImpliedConditions(
      const v1::Machine& /*machine*/, int32_t /*engine*/, absl::string_view op,
      bool /*sums*/) const override {
    v1::OpPattern::Condition condition;
    if (op == "add") {
      condition.set_expr("one_shape");
      condition.set_need("operands of one shape");
    } else {
      condition.set_expr("batch == 1");
      condition.set_need("batch 1");
    }
    return std::vector<v1::OpPattern::Condition>{condition};
  }

  absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any& /*decisions*/) const override {
    return Invalid("the engine model has no recipes", "decisions",
                   "remove the recipe");
  }
};

}  // namespace

absl::string_view RegisterName(Register reg) {
  return kRegisters[static_cast<int>(reg)].name;
}

absl::string_view CommandName(Command command) {
  return kCommands[static_cast<int>(command)].mnemonic;
}

std::optional<Register> FindRegister(absl::string_view name) {
  for (int i = 0; i < kNumRegisters; ++i) {
    if (kRegisters[i].name == name) return static_cast<Register>(i);
  }
  return std::nullopt;
}

std::optional<Command> FindCommand(absl::string_view mnemonic) {
  for (int i = 0; i < kNumCommands; ++i) {
    if (kCommands[i].mnemonic == mnemonic) return static_cast<Command>(i);
  }
  return std::nullopt;
}

absl::Span<const Register> Reads(Command command) {
  return kCommands[static_cast<int>(command)].reads;
}

bool IsTransfer(Command command) {
  return kCommands[static_cast<int>(command)].unit == v1::DMA_UNIT;
}

Banks BanksOf(const v1::Machine& machine, int32_t engine) {
  const std::vector<int32_t> banks = PrivateMemoriesOf(machine, engine);
  return {.a = banks[0],
          .b = banks[1],
          .lanes = machine.memories(banks[0]).alignment_bytes()};
}

const EngineModel& Model() {
  static const TinyVectorModel* const model = new TinyVectorModel;
  return *model;
}

}  // namespace edgekiln::target::tiny_vector
