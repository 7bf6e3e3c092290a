#include "target/command_timing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {

absl::StatusOr<CommandTiming> CommandTiming::Create(
    const v1::Machine& machine, const v1::Machine::Engine& engine) {
  std::vector<Constant> constants;
  constants.reserve(static_cast<size_t>(machine.parameters_size()));
  for (const v1::Setting& setting : machine.parameters()) {
    constants.push_back({setting.name(), setting.value()});
  }
  std::vector<std::string> variables;
  variables.reserve(static_cast<size_t>(engine.isa().registers_size()));
  for (const v1::RegisterDescriptor& reg : engine.isa().registers()) {
    variables.push_back(reg.name());
  }
  CommandTiming timing;
  // Most commands of a kind have the same expressions.
  std::vector<absl::string_view> compiled;  // Of timing.expressions_.
  absl::string_view last_issue;
  for (const v1::CommandDescriptor& command : engine.isa().commands()) {
    const std::string where = absl::StrCat("command ", command.mnemonic());
    int64_t issue = 0;
    if (!timing.issue_.empty() && command.issue_cycles_expr() == last_issue) {
      issue = timing.issue_.back();
    } else {
      last_issue = command.issue_cycles_expr();
      EK_ASSIGN_OR_RETURN(issue, EvaluateConstant(last_issue, constants),
                          absl::StrCat(where, ": issue_cycles_expr"));
    }
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
    absl::string_view text = "0";
    if (command.unit() != v1::CONTROL_UNIT) {
      text = command.occupancy_cycles_expr();
    }
    const auto known = std::find(compiled.begin(), compiled.end(), text);
    timing.occupancy_.push_back(static_cast<size_t>(known - compiled.begin()));
    if (known != compiled.end()) continue;
    EK_ASSIGN_OR_RETURN(Expression occupancy,
                        Expression::Compile(text, constants, variables),
                        absl::StrCat(where, ": occupancy_cycles_expr"));
    compiled.push_back(text);
    timing.expressions_.push_back(std::move(occupancy));
  }
  return timing;
}

absl::StatusOr<int64_t> CommandTiming::OccupancyCycles(
    int32_t command, absl::Span<const int64_t> registers) const {
  EK_ASSIGN_OR_RETURN(
      const int64_t cycles,
      expressions_[occupancy_[command]].Evaluate(registers),
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
