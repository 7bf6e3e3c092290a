#include "target/pattern_conditions.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/pattern_ops.h"

namespace edgekiln::target {

absl::StatusOr<PatternConditions> PatternConditions::Compile(
    const v1::OpPattern& pattern) {
  PatternConditions compiled;
  compiled.names_ = ChainVariableNames(pattern);
  for (const v1::OpPattern::Condition& condition : pattern.where()) {
    EK_ASSIGN_OR_RETURN(
        Expression expression,
        Expression::Compile(condition.expr(), {}, compiled.names_),
        absl::StrCat("patterns ", ChainName(pattern), ": where: expr"));
    std::vector<int32_t> variables = expression.UsedVariables();
    compiled.conditions_.push_back(
        {std::move(expression), condition.need(), std::move(variables)});
  }
  return compiled;
}

std::string PatternConditions::FirstFailed(
    absl::Span<const int64_t> values) const {
  for (const Condition& condition : conditions_) {
    const auto holds = condition.expression.Evaluate(values);
    if (holds.ok() && *holds != 0) continue;
    std::string here;
    for (const int32_t variable : condition.variables) {
      absl::StrAppend(&here, here.empty() ? "here " : ", ", names_[variable],
                      " ", values[variable]);
    }
    return absl::StrCat(condition.need, " (", here, ")");
  }
  return "";
}

}  // namespace edgekiln::target
