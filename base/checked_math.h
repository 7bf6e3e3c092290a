#ifndef EK_BASE_CHECKED_MATH_H_
#define EK_BASE_CHECKED_MATH_H_

// Integer arithmetic on numbers from outside. Empty means "does not fit".

#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/types/span.h"

namespace edgekiln {

constexpr std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

constexpr std::optional<int64_t> CheckedSub(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

constexpr std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// Number of elements of a shape: 1 without dimensions, 0 if an extent is 0.
// Empty if an extent is negative or the product of the others overflows, so
// that a shape is refused or accepted whatever the order of its extents.
inline std::optional<int64_t> CheckedProduct(
    absl::Span<const int64_t> extents) {
  int64_t product = 1;
  bool zero = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      zero = true;
      continue;
    }
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return zero ? 0 : product;
}

// `value` as another integer type, if it holds it.
template <typename To, typename From>
constexpr std::optional<To> CheckedCast(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  To out = 0;
  // Adding 0 in the target type is the compiler's own range check.
  if (__builtin_add_overflow(value, From{0}, &out)) return std::nullopt;
  return out;
}

}  // namespace edgekiln

#endif  // EK_BASE_CHECKED_MATH_H_
