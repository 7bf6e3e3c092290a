#include "target/expression.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/expression_parser.h"

namespace edgekiln::target {
namespace {

// False for b = 0 and for the one quotient that does not fit.
bool FloorDivide(int64_t a, int64_t b, int64_t* out) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return false;
  }
  *out = a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
  return true;
}

bool CeilDivide(int64_t a, int64_t b, int64_t* out) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return false;
  }
  *out = a / b + ((a % b != 0 && (a % b < 0) == (b < 0)) ? 1 : 0);
  return true;
}

std::string LiteralText(int64_t value) {
  if (value >= 0) return absl::StrCat(value);
  // The smallest one has no positive counterpart.
  if (value == std::numeric_limits<int64_t>::min()) {
    return absl::StrCat("minus(negative(", std::numeric_limits<int64_t>::max(),
                        "), 1)");
  }
  return absl::StrCat("negative(", -value, ")");
}

}  // namespace

// One evaluation. Recursion is as deep as the tree, which Compile() limits.
class ExpressionEvaluator {
 public:
  using Kind = Expression::Kind;
  using Node = Expression::Node;

  ExpressionEvaluator(const std::vector<Node>& nodes,
                      absl::Span<const int64_t> values)
      : nodes_(nodes), values_(values) {}

  bool Evaluate(int32_t index, int64_t* out) {
    const Node& node = nodes_[index];
    switch (node.kind) {
      case Kind::kLiteral:
        *out = node.value;
        return true;
      case Kind::kVariable:
        *out = values_[node.value];
        return true;
      case Kind::kSumVariable:
        *out = sum_values_[node.value];
        return true;
      case Kind::kSelect: {
        int64_t condition = 0;
        if (!Evaluate(node.operand[0], &condition)) return false;
        return Evaluate(node.operand[condition != 0 ? 1 : 2], out);
      }
      case Kind::kSum:
        return EvaluateSum(node, out);
      case Kind::kNegate: {
        int64_t a = 0;
        if (!Evaluate(node.operand[0], &a)) return false;
        return Check(!__builtin_sub_overflow(int64_t{0}, a, out), node);
      }
      default:
        return EvaluateBinary(node, out);
    }
  }

  const char* failure() const { return failure_; }
  int32_t failure_column() const { return failure_column_; }

 private:
  // Most operands are leaves: they take no call.
  bool Operand(int32_t index, int64_t* out) {
    const Node& node = nodes_[index];
    if (node.kind == Kind::kVariable) {
      *out = values_[node.value];
      return true;
    }
    if (node.kind == Kind::kLiteral) {
      *out = node.value;
      return true;
    }
    return Evaluate(index, out);
  }

  bool EvaluateBinary(const Node& node, int64_t* out) {
    int64_t a = 0;
    int64_t b = 0;
    if (!Operand(node.operand[0], &a) || !Operand(node.operand[1], &b)) {
      return false;
    }
    switch (node.kind) {
      case Kind::kAdd:
        return Check(!__builtin_add_overflow(a, b, out), node);
      case Kind::kSub:
        return Check(!__builtin_sub_overflow(a, b, out), node);
      case Kind::kMul:
        return Check(!__builtin_mul_overflow(a, b, out), node);
      case Kind::kCeilDiv:
        return Check(CeilDivide(a, b, out), node, "division by 0 or overflow");
      case Kind::kFloorDiv:
        return Check(FloorDivide(a, b, out), node, "division by 0 or overflow");
      case Kind::kMin:
        *out = std::min(a, b);
        return true;
      case Kind::kMax:
        *out = std::max(a, b);
        return true;
      case Kind::kEqual:
        *out = a == b;
        return true;
      case Kind::kNotEqual:
        *out = a != b;
        return true;
      case Kind::kLess:
        *out = a < b;
        return true;
      default:
        *out = a <= b;
        return true;
    }
  }

  bool EvaluateSum(const Node& node, int64_t* out) {
    int64_t low = 0;
    int64_t high = 0;
    if (!Evaluate(node.operand[0], &low) || !Evaluate(node.operand[1], &high)) {
      return false;
    }
    int64_t total = 0;
    for (int64_t i = low; i < high; ++i) {
      if (!Check(++terms_ <= kMaxSumTerms, node, "too many terms in sum()")) {
        return false;
      }
      sum_values_[node.value] = i;
      int64_t term = 0;
      if (!Evaluate(node.operand[2], &term)) return false;
      if (!Check(!__builtin_add_overflow(total, term, &total), node)) {
        return false;
      }
    }
    *out = total;
    return true;
  }

  bool Check(bool ok, const Node& node, const char* what = "overflow") {
    if (ok) return true;
    failure_ = what;
    failure_column_ = node.column;
    return false;
  }

  const std::vector<Node>& nodes_;
  absl::Span<const int64_t> values_;
  // Of the sums around a node; set before the node is looked at.
  std::array<int64_t, kMaxExpressionDepth> sum_values_;
  int64_t terms_ = 0;
  const char* failure_ = "";
  int32_t failure_column_ = 0;
};

Expression::Expression() : nodes_(1), text_("0") {}

absl::StatusOr<Expression> Expression::Compile(
    absl::string_view text, absl::Span<const Constant> constants,
    absl::Span<const std::string> variables) {
  return ExpressionParser(text, constants, variables).Parse();
}

absl::StatusOr<int64_t> Expression::Evaluate(
    absl::Span<const int64_t> values) const {
  ExpressionEvaluator evaluator(nodes_, values);
  int64_t result = 0;
  if (evaluator.Evaluate(static_cast<int32_t>(nodes_.size()) - 1, &result)) {
    return result;
  }
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "EXPRESSION_OVERFLOW",
       .what = evaluator.failure(),
       .where = absl::StrCat("column ", evaluator.failure_column(), " of \"",
                             absl::string_view(text_).substr(0, 200), "\""),
       .limit = "64-bit integers, and divisors of at least 1",
       .fix = "correct the expression in the target file, or the numbers that "
              "it is made of"});
}

std::vector<int32_t> Expression::UsedVariables() const {
  std::vector<int32_t> used;
  // Leaves are in the order of the text.
  for (const Node& node : nodes_) {
    if (node.kind != Kind::kVariable) continue;
    const auto slot = static_cast<int32_t>(node.value);
    if (std::find(used.begin(), used.end(), slot) == used.end()) {
      used.push_back(slot);
    }
  }
  return used;
}

std::optional<std::string> Expression::AsCalls(
    absl::Span<const std::string> variables) const {
  std::string out;
  const auto root = static_cast<int32_t>(nodes_.size()) - 1;
  if (!AppendCalls(root, variables, &out)) return std::nullopt;
  return out;
}

bool Expression::AppendCalls(int32_t index,
                             absl::Span<const std::string> variables,
                             std::string* out) const {
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Kind::kLiteral:
      absl::StrAppend(out, LiteralText(node.value));
      return true;
    case Kind::kVariable:
      absl::StrAppend(out, variables[node.value]);
      return true;
    case Kind::kSumVariable:
    case Kind::kSum:
      return false;
    default:
      break;
  }
  static_assert(static_cast<int>(Kind::kSum) == 16);  // One name each.
  constexpr const char* kFunctions[] = {
      "",         "",        "",         "plus",   "minus", "times",
      "negative", "ceildiv", "floordiv", "min",    "max",   "equal",
      "unequal",  "less",    "at_most",  "select", ""};
  absl::StrAppend(out, kFunctions[static_cast<int>(node.kind)]);
  absl::string_view before = "(";
  for (const int32_t operand : node.operand) {
    if (operand < 0) continue;
    absl::StrAppend(out, before);
    before = ", ";
    if (!AppendCalls(operand, variables, out)) return false;
  }
  absl::StrAppend(out, ")");
  return true;
}

absl::StatusOr<std::string> ReplaceNames(absl::string_view text,
                                         NameReplacement replacement) {
  return ExpressionParser(text, replacement).ParseAndReplace();
}

std::string ValueText(int64_t value) {
  return value < 0 ? absl::StrCat("(", value, ")") : absl::StrCat(value);
}

absl::StatusOr<int64_t> EvaluateConstant(absl::string_view text,
                                         absl::Span<const Constant> constants) {
  EK_ASSIGN_OR_RETURN(const Expression expression,
                      Expression::Compile(text, constants, {}));
  return expression.Evaluate({});
}

}  // namespace edgekiln::target
