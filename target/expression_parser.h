#ifndef EK_TARGET_EXPRESSION_PARSER_H_
#define EK_TARGET_EXPRESSION_PARSER_H_

// The recursive-descent parser behind Expression::Compile().

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "target/expression.h"

namespace edgekiln::target {

// One use: construct, Parse(). Not thread-safe.
class ExpressionParser {
 public:
  ExpressionParser(absl::string_view text, absl::Span<const Constant> constants,
                   absl::Span<const std::string> variables)
      : text_(text), constants_(constants), variables_(variables) {}
  // For ParseAndReplace().
  ExpressionParser(absl::string_view text, NameReplacement replacement)
      : text_(text), replacement_(replacement) {}

  absl::StatusOr<Expression> Parse();
  // The text with its names replaced.
  absl::StatusOr<std::string> ParseAndReplace();

 private:
  using Kind = Expression::Kind;
  using Node = Expression::Node;
  // Index of the node of what was parsed, or kFailed: error_ says why. Targets
  // have hundreds of expressions, and an absl::StatusOr for each node takes
  // longer than the node.
  using Result = int32_t;
  static constexpr Result kFailed = -1;
  // Of an expression; more cost an allocation.
  static constexpr size_t kUsualNodes = 32;

  absl::Status ParseAll();
  Result ParseComparison();
  Result ParseSum();
  Result ParseProduct();
  Result ParseUnary();
  Result ParsePrimary();
  Result ParseLiteral();
  Result ParseName();
  Result ParseCall(absl::string_view function, int32_t column);
  Result ParseSumCall(int32_t column);
  Result LookUp(absl::string_view name, int32_t column);

  Result AddNode(Kind kind, int32_t column, int64_t value,
                 absl::Span<const int32_t> operands);
  Result Error(int32_t column, absl::string_view what, std::string fix = "");
  // False after an error.
  bool Expect(char token);

  void SkipSpace();
  // The next character that is no space; '\0' at the end.
  char Peek();
  // Consumes `token` if it comes next.
  bool Accept(absl::string_view token);
  bool Accept(char token);
  int32_t column() const { return static_cast<int32_t>(at_) + 1; }
  absl::string_view TakeName();

  absl::string_view text_;
  absl::Span<const Constant> constants_;
  absl::Span<const std::string> variables_;
  std::optional<NameReplacement> replacement_;
  std::string replaced_;  // The text up to `copied_`.
  size_t copied_ = 0;
  size_t at_ = 0;
  int nesting_ = 0;
  std::vector<absl::string_view> sum_variables_;  // Innermost last.
  absl::InlinedVector<Node, kUsualNodes> nodes_;
  absl::InlinedVector<int, kUsualNodes> depth_;  // Of each node's subtree.
  bool uses_variables_ = false;
  absl::Status error_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_EXPRESSION_PARSER_H_
