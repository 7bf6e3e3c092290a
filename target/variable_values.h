#ifndef EK_TARGET_VARIABLE_VALUES_H_
#define EK_TARGET_VARIABLE_VALUES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace edgekiln::target {

// A value for each of the first `kCount` enumerators of Variable: the argument
// of Expression::Evaluate().
template <typename Variable, int kCount>
class VariableValues {
 public:
  int64_t& operator[](Variable variable) {
    return values_[static_cast<size_t>(variable)];
  }
  int64_t operator[](Variable variable) const {
    return values_[static_cast<size_t>(variable)];
  }
  absl::Span<const int64_t> values() const { return values_; }
  bool operator==(const VariableValues&) const = default;

 private:
  std::array<int64_t, kCount> values_{};
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_VARIABLE_VALUES_H_
