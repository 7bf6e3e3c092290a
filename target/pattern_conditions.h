#ifndef EK_TARGET_PATTERN_CONDITIONS_H_
#define EK_TARGET_PATTERN_CONDITIONS_H_

// The conditions of a resolved pattern, compiled once for many ops.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

// Immutable, hence thread-safe.
class PatternConditions {
 public:
  // All ops of the pattern are known. INVALID_ARGUMENT names the condition.
  static absl::StatusOr<PatternConditions> Compile(
      const v1::OpPattern& pattern);

  // The first condition that does not hold, with the values of its variables:
  // "kernels up to 7 (here kernel_h 9, kernel_w 9)". Empty if all hold. A
  // condition whose evaluation overflows does not hold. `values`: by the names
  // of ChainVariableNames().
  std::string FirstFailed(absl::Span<const int64_t> values) const;

 private:
  struct Condition {
    Expression expression;
    std::string need;
    std::vector<int32_t> variables;  // That it uses.
  };
  std::vector<std::string> names_;
  std::vector<Condition> conditions_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_PATTERN_CONDITIONS_H_
