#ifndef EK_OPS_VALUE_TABLE_H_
#define EK_OPS_VALUE_TABLE_H_

#include <array>
#include <cstdint>
#include <type_traits>

namespace edgekiln::ops {

// A function of one quantized value. With 8 bits every result is computed once;
// more bits are computed each time.
template <typename T, typename F>
class ValueTable {
 public:
  using Result = std::invoke_result_t<F, int32_t>;

  explicit ValueTable(const F& f) : f_(f) {
    if constexpr (kTabulated) {
      constexpr int32_t kLowest = std::is_signed_v<T> ? -128 : 0;
      for (int32_t v = kLowest; v < kLowest + 256; ++v) {
        table_[static_cast<uint8_t>(v)] = f(v);
      }
    }
  }

  Result operator()(T value) const {
    if constexpr (kTabulated) {
      return table_[static_cast<uint8_t>(value)];
    } else {
      return f_(value);
    }
  }

 private:
  static constexpr bool kTabulated = sizeof(T) == 1;

  F f_;
  std::array<Result, kTabulated ? 256 : 1> table_ = {};
};

template <typename T, typename F>
ValueTable<T, F> MakeValueTable(const F& f) {
  return ValueTable<T, F>(f);
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_VALUE_TABLE_H_
