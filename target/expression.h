#ifndef EK_TARGET_EXPRESSION_H_
#define EK_TARGET_EXPRESSION_H_

// The expressions of a target file: int64 arithmetic over named values.
//
//   expr    := sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum     := product (("+" | "-") product)*
//   product := unary ("*" unary)*
//   unary   := "-" unary | primary
//   primary := integer | name | "(" expr ")"
//            | ("ceildiv" | "floordiv" | "min" | "max") "(" expr "," expr ")"
//            | "select" "(" expr "," expr "," expr ")"
//            | "sum" "(" name "," expr "," expr "," expr ")"
//
// A comparison is 1 or 0. select(c,a,b) is a if c is not 0, else b, and does
// not look at the other one. sum(i,lo,hi,e) adds e for i = lo .. hi-1 and is 0
// if hi <= lo. Division rounds up or down towards the named infinity whatever
// the signs. Overflow, division by 0 and more than kMaxSumTerms terms are
// errors, never wrapped.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace edgekiln::target {

inline constexpr int kMaxExpressionBytes = 4096;
inline constexpr int kMaxExpressionDepth = 64;
// Terms of all sums together in one evaluation, nested ones included.
inline constexpr int64_t kMaxSumTerms = 1 << 16;

// A name that stands for a number known when the expression is compiled.
struct Constant {
  std::string name;
  int64_t value = 0;
};

// Parsed once, evaluated often. Immutable, hence thread-safe; copyable.
class Expression {
 public:
  // The constant 0.
  Expression();

  // Compiles `text`. A name is looked up among enclosing sum() variables, then
  // `constants`, then `variables`; variables[i] is slot i of Evaluate().
  // `text` is hostile: INVALID_ARGUMENT names the column (from 1).
  static absl::StatusOr<Expression> Compile(
      absl::string_view text, absl::Span<const Constant> constants,
      absl::Span<const std::string> variables);

  // `values` holds one value per variable given to Compile(). OUT_OF_RANGE for
  // overflow, division by 0 and too many terms, with the column.
  absl::StatusOr<int64_t> Evaluate(absl::Span<const int64_t> values) const;

  // True if a variable occurs (constants do not count).
  bool uses_variables() const { return uses_variables_; }
  // Slots of the variables that occur, each once, in the order of the text.
  std::vector<int32_t> UsedVariables() const;
  const std::string& text() const { return text_; }

  // The expression as calls, for code in another language: "plus(a, times(b,
  // 2))". variables[i] is what stands for slot i. The functions: plus, minus,
  // times, negative, ceildiv, floordiv, min, max, equal, unequal, less,
  // at_most, and select, which must not evaluate the operand that it does not
  // choose. Nothing if there is a sum().
  std::optional<std::string> AsCalls(
      absl::Span<const std::string> variables) const;

 private:
  friend class ExpressionParser;
  friend class ExpressionEvaluator;

  enum class Kind : uint8_t {
    kLiteral,
    kVariable,
    kSumVariable,
    kAdd,
    kSub,
    kMul,
    kNegate,
    kCeilDiv,
    kFloorDiv,
    kMin,
    kMax,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kSelect,
    kSum,
  };
  struct Node {
    Kind kind = Kind::kLiteral;
    int32_t column = 1;
    int32_t operand[3] = {-1, -1, -1};  // Earlier nodes.
    int64_t value = 0;                  // Literal, slot, or depth of a sum.
  };

  Expression(std::vector<Node> nodes, std::string text, bool uses_variables)
      : nodes_(std::move(nodes)),
        text_(std::move(text)),
        uses_variables_(uses_variables) {}

  bool AppendCalls(int32_t index, absl::Span<const std::string> variables,
                   std::string* out) const;

  std::vector<Node> nodes_;  // The last one is the root.
  std::string text_;
  bool uses_variables_ = false;
};

// Compile() without variables and Evaluate() in one.
absl::StatusOr<int64_t> EvaluateConstant(absl::string_view text,
                                         absl::Span<const Constant> constants);

// The replacement of a name; nothing if the name is unknown.
using NameReplacement =
    absl::FunctionRef<std::optional<std::string>(absl::string_view name)>;

// `text` with each name replaced, except the variables of sum(). Replacements
// are not parsed. INVALID_ARGUMENT as of Compile().
absl::StatusOr<std::string> ReplaceNames(absl::string_view text,
                                         NameReplacement replacement);

// A value as an operand in an expression: negative ones in parentheses.
std::string ValueText(int64_t value);

}  // namespace edgekiln::target

#endif  // EK_TARGET_EXPRESSION_H_
