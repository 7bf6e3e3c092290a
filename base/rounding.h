#ifndef EK_BASE_ROUNDING_H_
#define EK_BASE_ROUNDING_H_

// Integer division and multiples, rounded up.

#include <cstdint>

namespace edgekiln {

// The least integer that is not below a / b. Needs a >= 0 and b >= 1.
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// The least multiple of `step` that is not below `value`; it must fit. Needs
// value >= 0 and step >= 1.
constexpr int64_t RoundUp(int64_t value, int64_t step) {
  return CeilDiv(value, step) * step;
}

}  // namespace edgekiln

#endif  // EK_BASE_ROUNDING_H_
