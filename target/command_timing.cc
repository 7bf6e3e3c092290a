#include "target/command_timing.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {

absl::StatusOr<CommandTiming> CommandTiming::Create(
    const v1::Machine& machine, const v1::Machine::Engine& engine) {
  std::vector<Constant> constants;
  for (const v1::Setting& setting : machine.parameters()) {
    constants.push_back({setting.name(), setting.value()});
  }
  std::vector<std::string> variables;
  for (const v1::RegisterDescriptor& reg : engine.isa().registers()) {
    variables.push_back(reg.name());
  }
  CommandTiming timing;
  for (const v1::CommandDescriptor& command : engine.isa().commands()) {
    const std::string where = absl::StrCat("command ", command.mnemonic());
    EK_ASSIGN_OR_RETURN(
        const int64_t issue,
        EvaluateConstant(command.issue_cycles_expr(), constants),
        absl::StrCat(where, ": issue_cycles_expr"));
    if (issue < 1 || issue > kMaxIssueCycles) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.reason = "TARGET_INVALID",
           .what = absl::StrCat("issue_cycles_expr gives ", issue, " cycles"),
           .where = where,
           .limit = absl::StrCat("1 to ", kMaxIssueCycles, " cycles"),
           .fix = "correct the timing of this command in the target file"});
    }
    timing.mnemonics_.push_back(command.mnemonic());
    timing.issue_.push_back(issue);
    Expression occupancy;
    if (command.unit() != v1::CONTROL_UNIT) {
      EK_ASSIGN_OR_RETURN(occupancy,
                          Expression::Compile(command.occupancy_cycles_expr(),
                                              constants, variables),
                          absl::StrCat(where, ": occupancy_cycles_expr"));
    }
    timing.occupancy_.push_back(std::move(occupancy));
  }
  return timing;
}

absl::StatusOr<int64_t> CommandTiming::OccupancyCycles(
    int32_t command, absl::Span<const int64_t> registers) const {
  EK_ASSIGN_OR_RETURN(
      const int64_t cycles, occupancy_[command].Evaluate(registers),
      absl::StrCat("command ", mnemonics_[command], ": occupancy_cycles_expr"));
  if (cycles >= 1 && cycles <= kMaxCommandCycles) return cycles;
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = absl::StrCat("occupancy_cycles_expr gives ", cycles, " cycles"),
       .where = absl::StrCat("command ", mnemonics_[command]),
       .limit = absl::StrCat("1 to ", kMaxCommandCycles, " cycles"),
       .fix = "correct the timing of this command in the target file"});
}

}  // namespace edgekiln::target
