#include <type_traits>

#include "ops/arithmetic.h"
#include "ops/element_types.h"
#include "ops/float16.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

template <typename From, typename To>
To Convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return SaturatingCast<To>(value);
  } else {
    return static_cast<To>(value);  // Integers wrap around, floats round.
  }
}

// `read` gives element i as some arithmetic type.
template <typename Read>
absl::Status Store(const Read& read, const MutableTensorView& output) {
  const int64_t elements = NumElements(output.shape);
  if (output.type == v1::FLOAT16) {
    auto* to = output.as<uint16_t>();
    for (int64_t i = 0; i < elements; ++i) {
      if constexpr (std::is_same_v<decltype(read(i)), float>) {
        to[i] = HalfFromFloat(read(i));
      } else {
        to[i] = HalfFromDouble(static_cast<double>(read(i)));
      }
    }
    return absl::OkStatus();
  }
  if (output.type == v1::BOOL) {
    for (int64_t i = 0; i < elements; ++i) {
      output.as<uint8_t>()[i] = read(i) != 0 ? 1 : 0;
    }
    return absl::OkStatus();
  }
  return WithElementType(output.type, [&](auto type) {
    using To = decltype(type);
    To* to = output.as<To>();
    for (int64_t i = 0; i < elements; ++i) {
      to[i] = Convert<decltype(read(i)), To>(read(i));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Cast(const TensorView& input, const MutableTensorView& output) {
  if (input.type == v1::FLOAT16) {
    const auto* x = input.as<uint16_t>();
    return Store([x](int64_t i) { return FloatFromHalf(x[i]); }, output);
  }
  if (input.type == v1::BOOL) {
    const auto* x = input.as<uint8_t>();
    return Store([x](int64_t i) -> uint8_t { return x[i] != 0; }, output);
  }
  return WithElementType(input.type, [&](auto type) {
    const auto* x = input.as<decltype(type)>();
    return Store([x](int64_t i) { return x[i]; }, output);
  });
}

}  // namespace edgekiln::ops
