#include "target/models/dla.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "target/memories.h"
#include "target/models/dla/commands.h"
#include "target/models/dla/conditions.h"
#include "target/models/dla/instruction_set.h"
#include "target/pattern_ops.h"

namespace edgekiln::target {
namespace {

// Checks for a private SRAM, and a DMA between it and all of system memory.
absl::Status CheckMemories(const v1::Machine& machine, int32_t engine) {
  const int32_t sram = PrivateMemoryOf(machine, engine);
  if (sram < 0 || !IsWritable(machine.memories(sram))) {
    return DlaError(
        "the engine needs one memory of its own, for activations", "memories",
        absl::StrCat("reached_by: \"", machine.engines(engine).name(),
                     "\" in one memory alone"));
  }
  const v1::ResolvedLink* const dma = OnlyLinkOf(machine, engine);
  if (dma == nullptr || dma->dimensions() < 2) {
    return DlaError(
        "the engine needs one link of its own that moves rows", "links",
        absl::StrCat("a link with owner: \"", machine.engines(engine).name(),
                     "\" and dimensions: 2"));
  }
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (m != sram && !memory.host_reaches()) continue;
    if (!absl::c_linear_search(dma->from(), m)) {
      return DlaError("the engine's link does not read a memory",
                      absl::StrCat("link ", dma->name()),
                      absl::StrCat("from: \"", memory.name(), "\""));
    }
    if (IsWritable(memory) && !absl::c_linear_search(dma->to(), m)) {
      return DlaError("the engine's link does not write a memory",
                      absl::StrCat("link ", dma->name()),
                      absl::StrCat("to: \"", memory.name(), "\""));
    }
  }
  return absl::OkStatus();
}

// Registers that hold addresses of the SRAM, and transfers of up to all of it.
// Pitches are narrower in places: tiles are chosen by them.
absl::Status CheckAddresses(const v1::Machine& machine, int32_t engine) {
  const v1::Isa& isa = machine.engines(engine).isa();
  const auto check = [&isa](DlaRegister reg, const v1::ResolvedMemory& memory,
                            uint64_t most) -> absl::Status {
    const v1::RegisterDescriptor* const found = FindRegister(isa, reg);
    if (found == nullptr) return absl::OkStatus();
    const int need =
        static_cast<int>(std::bit_width(most)) + (found->is_signed() ? 1 : 0);
    if (found->bits() >= need) return absl::OkStatus();
    return DlaError(
        absl::StrCat("a register is too narrow for memory ", memory.name()),
        absl::StrCat("isa: register ", found->name()),
        absl::StrCat("bits: ", need));
  };
  const v1::ResolvedMemory& sram =
      machine.memories(PrivateMemoryOf(machine, engine));
  const auto bytes = static_cast<uint64_t>(sram.capacity_bytes());
  for (const DlaRegister reg :
       {DlaRegister::kInAddr, DlaRegister::kIn2Addr, DlaRegister::kWeightAddr,
        DlaRegister::kTableAddr, DlaRegister::kOutAddr,
        DlaRegister::kDmaSramAddr}) {
    EK_RETURN_IF_ERROR(check(reg, sram, std::max<uint64_t>(bytes, 1) - 1));
  }
  for (const DlaRegister reg :
       {DlaRegister::kDmaRowBytes, DlaRegister::kDmaRows}) {
    EK_RETURN_IF_ERROR(check(reg, sram, bytes));
  }
  const auto last = [](const v1::ResolvedMemory& memory) {
    const int64_t bytes = std::max<int64_t>(memory.capacity_bytes(), 1);
    return memory.base_address() + static_cast<uint64_t>(bytes) - 1;
  };
  const v1::ResolvedMemory* highest = nullptr;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    if (!memory.host_reaches()) continue;
    if (highest == nullptr || last(memory) > last(*highest)) highest = &memory;
  }
  if (highest == nullptr) return absl::OkStatus();
  return check(DlaRegister::kDmaSystemAddr, *highest, last(*highest));
}

absl::Status PatternError(const v1::OpPattern& pattern, std::string what) {
  return DlaError(
      std::move(what), absl::StrCat("patterns ", ChainName(pattern)),
      "correct the file; `edgekiln targets show dla` is a valid one");
}

absl::Status CheckCommands(const v1::OpPattern& pattern, const v1::Isa& isa) {
  const bool half_even =
      absl::c_linear_search(pattern.numerics().roundings(), v1::HALF_EVEN);
  if (absl::c_linear_search(pattern.numerics().roundings(), v1::FLOOR)) {
    return PatternError(pattern,
                        "numerics: roundings: FLOOR, but no command rounds "
                        "down");
  }
  for (const std::string& op : pattern.ops()) {
    std::vector<DlaCommand> needed = DlaCommandsOf(op, isa);
    if (needed.empty()) {
      return PatternError(
          pattern,
          absl::StrCat("ops: the engine model has no command for ", op));
    }
    needed.insert(needed.end(), {DlaCommand::kDmaRead, DlaCommand::kDmaWrite});
    for (const DlaCommand command : needed) {
      const v1::CommandDescriptor* const found = FindCommand(isa, command);
      if (found == nullptr) {
        return PatternError(pattern, absl::StrCat("the pattern needs command ",
                                                  DlaCommandName(command)));
      }
      if (half_even && DlaCommandRounds(command) && !found->takes_rounding()) {
        return PatternError(
            pattern,
            absl::StrCat("numerics: roundings: HALF_EVEN, but command ",
                         DlaCommandName(command), " has no takes_rounding"));
      }
    }
  }
  return absl::OkStatus();
}

template <typename Types>
bool IsInt8(const Types& types) {
  return types.size() == 1 && types.Get(0) == v1::INT8;
}

// Accepts the arithmetic of docs/targets/dla.md or a subset of it.
absl::Status CheckNumerics(const v1::OpPattern& pattern, const v1::Isa& isa) {
  const v1::Numerics& numerics = pattern.numerics();
  if (!IsInt8(numerics.activations()) ||
      (!numerics.weights().empty() && !IsInt8(numerics.weights()))) {
    return PatternError(pattern,
                        "numerics: activations and weights can only be INT8");
  }
  if (numerics.requantization() != v1::Numerics::REQUANTIZATION_UNSPECIFIED) {
    for (const std::string& op : pattern.ops()) {
      if (!MayKeepQuantization(*FindOp(op))) continue;
      return PatternError(
          pattern, absl::StrCat("numerics: requantization is given, but the "
                                "command of ",
                                op, " keeps the quantization of its input"));
    }
  }
  if (numerics.weight_zero_points() &&
      FindRegister(isa, DlaRegister::kWeightZeroPoint) == nullptr) {
    return PatternError(pattern,
                        "numerics: weight_zero_points, but there is no "
                        "register WEIGHT_ZERO_POINT");
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
      return DlaError("the engine model has an instruction set", "isa",
                      "add isa { .. }");
    }
    EK_RETURN_IF_ERROR(CheckDlaInstructions(machine.engines(engine).isa()),
                       "isa");
    EK_RETURN_IF_ERROR(CheckMemories(machine, engine));
    return CheckAddresses(machine, engine);
  }
  absl::Status ValidatePattern(const v1::OpPattern& pattern,
                               const v1::Machine& machine,
                               int32_t engine) const override {
    const v1::Isa& isa = machine.engines(engine).isa();
    EK_RETURN_IF_ERROR(CheckCommands(pattern, isa));
    return CheckNumerics(pattern, isa);
  }
  absl::StatusOr<std::vector<v1::OpPattern::Condition>> ImpliedConditions(
      const v1::Machine& machine, int32_t engine, absl::string_view op,
      bool sums) const override {
    return DlaConditions(machine.engines(engine).isa(), op, sums);
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
