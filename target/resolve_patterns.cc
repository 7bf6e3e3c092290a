#include "target/resolve_patterns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/engine_model.h"
#include "target/nearest_name.h"
#include "target/need_text.h"
#include "target/parameters.h"
#include "target/pattern_ops.h"
#include "target/validate_pattern.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxPatterns = 256;
constexpr int kMaxConditions = 64;  // Of one pattern, as written.
// Limit on all conditions of an engine: each op of each chain repeats those
// that registers imply.
constexpr size_t kMaxConditionBytes = 1 << 20;

// One expression of a pattern, with values in place of parameters.
struct Valued {
  std::string text;
  bool uses_variables = false;
};

absl::StatusOr<Valued> PutValues(absl::string_view text,
                                 absl::Span<const Constant> parameters,
                                 const std::vector<std::string>& variables,
                                 const std::string& where) {
  Valued valued;
  std::string unknown;
  std::string ambiguous;
  auto replaced = ReplaceNames(
      text, [&](absl::string_view name) -> std::optional<std::string> {
        const bool variable = absl::c_linear_search(variables, name);
        const auto parameter = absl::c_find_if(
            parameters, [name](const Constant& c) { return c.name == name; });
        if (parameter != parameters.end()) {
          if (variable) ambiguous = std::string(name);
          return ValueText(parameter->value);
        }
        if (!variable) {
          unknown = std::string(name);
          return std::nullopt;
        }
        valued.uses_variables = true;
        return std::string(name);
      });
  if (!unknown.empty()) {
    std::vector<std::string> known = variables;
    for (const Constant& parameter : parameters) {
      known.push_back(parameter.name);
    }
    return InvalidTarget(
        {.what = absl::StrCat("no parameter or variable \"", unknown, "\""),
         .where = where,
         .fix = DidYouMean(unknown, known,
                           "target/op_variables.h lists the variables")});
  }
  if (!ambiguous.empty()) {
    return InvalidTarget(
        {.what = absl::StrCat("\"", ambiguous,
                              "\" is a parameter and a variable of the ops"),
         .where = where,
         .fix = "call the parameter something else"});
  }
  if (!replaced.ok()) return Annotate(replaced.status(), where);
  valued.text = *std::move(replaced);
  return valued;
}

absl::StatusOr<int64_t> ValueOf(absl::string_view text,
                                absl::Span<const Constant> parameters,
                                const std::string& where) {
  EK_ASSIGN_OR_RETURN(const Valued valued,
                      PutValues(text, parameters, {}, where));
  EK_ASSIGN_OR_RETURN(const int64_t value, EvaluateConstant(valued.text, {}),
                      where);
  return value;
}

// A need with the expressions in braces replaced by their values.
absl::StatusOr<std::string> NeedOf(absl::string_view need,
                                   absl::Span<const Constant> parameters,
                                   const std::string& where) {
  return NeedText(
      need,
      [&](absl::string_view expression) {
        return ValueOf(expression, parameters, where);
      },
      where);
}

absl::StatusOr<v1::OpPattern> PutValues(v1::OpPattern pattern,
                                        absl::Span<const Constant> parameters) {
  const std::vector<std::string> variables = ChainVariableNames(pattern);
  for (int i = 0; i < pattern.where_size(); ++i) {
    v1::OpPattern::Condition& condition = *pattern.mutable_where(i);
    const std::string where =
        absl::StrCat("patterns ", ChainName(pattern), ": where ", i + 1, ": ");
    EK_ASSIGN_OR_RETURN(
        *condition.mutable_need(),
        NeedOf(condition.need(), parameters, absl::StrCat(where, "need")));
    EK_ASSIGN_OR_RETURN(Valued expr,
                        PutValues(condition.expr(), parameters, variables,
                                  absl::StrCat(where, "expr")));
    if (!expr.uses_variables) {
      return InvalidTarget({.what = "the condition has no variable of the ops",
                            .where = absl::StrCat(where, "expr"),
                            .fix = "write it as when_expr of the pattern"});
    }
    condition.set_expr(std::move(expr.text));
  }
  if (!pattern.phases_expr().empty()) {
    EK_ASSIGN_OR_RETURN(Valued expr,
                        PutValues(pattern.phases_expr(), parameters, variables,
                                  absl::StrCat("patterns ", ChainName(pattern),
                                               ": phases_expr")));
    pattern.set_phases_expr(std::move(expr.text));
  }
  pattern.clear_when_expr();
  return pattern;
}

// Rewrites a condition over an op's variables to one over its chain's.
absl::StatusOr<std::string> InChain(absl::string_view expr,
                                    const std::string& prefix) {
  if (prefix.empty()) return std::string(expr);
  return ReplaceNames(
      expr, [&](absl::string_view name) -> std::optional<std::string> {
        return absl::StrCat(prefix, name);
      });
}

absl::Status AddImpliedConditions(const v1::Machine& machine, int32_t engine,
                                  v1::OpPattern& pattern) {
  EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                      FindEngineModel(machine.engines(engine).model()));
  for (int i = 0; i < pattern.ops_size(); ++i) {
    EK_ASSIGN_OR_RETURN(
        const auto implied,
        model->ImpliedConditions(machine, engine, pattern.ops(i),
                                 pattern.numerics().requantization() ==
                                     v1::Numerics::NOT_REQUANTIZED));
    for (const v1::OpPattern::Condition& condition : implied) {
      EK_ASSIGN_OR_RETURN(
          std::string expr,
          InChain(condition.expr(), VariablePrefix(pattern, i)));
      const bool known = absl::c_any_of(
          pattern.where(), [&](const auto& c) { return c.expr() == expr; });
      if (known) continue;
      v1::OpPattern::Condition& added = *pattern.add_where();
      added.set_expr(std::move(expr));
      added.set_need(condition.need());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Patterns> ResolvePatterns(Patterns patterns,
                                         absl::Span<const Constant> parameters,
                                         const v1::Machine& machine,
                                         int32_t engine) {
  if (patterns.size() > kMaxPatterns) {
    return InvalidTarget({.what = "too many entries",
                          .where = "patterns",
                          .limit = absl::StrCat(kMaxPatterns),
                          .need = absl::StrCat(patterns.size())});
  }
  Patterns resolved;
  size_t bytes = 0;
  for (v1::OpPattern& pattern : patterns) {
    EK_RETURN_IF_ERROR(ValidatePatternOps(pattern));
    const std::string where = absl::StrCat("patterns ", ChainName(pattern));
    if (pattern.where_size() > kMaxConditions) {
      return InvalidTarget({.what = "too many entries",
                            .where = absl::StrCat(where, ": where"),
                            .limit = absl::StrCat(kMaxConditions)});
    }
    const std::string when = std::move(*pattern.mutable_when_expr());
    EK_ASSIGN_OR_RETURN(v1::OpPattern valued,
                        PutValues(std::move(pattern), parameters));
    if (!when.empty()) {
      EK_ASSIGN_OR_RETURN(
          const int64_t has,
          ValueOf(when, parameters, absl::StrCat(where, ": when_expr")));
      if (has == 0) continue;
    }
    EK_RETURN_IF_ERROR(AddImpliedConditions(machine, engine, valued));
    bytes += valued.ByteSizeLong();
    if (bytes > kMaxConditionBytes) {
      return InvalidTarget(
          {.what = "the conditions are too long, with those that registers "
                   "imply",
           .where = where,
           .limit = absl::StrCat(kMaxConditionBytes, " bytes for an engine"),
           .fix = "fewer patterns, or shorter value_expr of registers"});
    }
    *resolved.Add() = std::move(valued);
  }
  return resolved;
}

}  // namespace edgekiln::target
