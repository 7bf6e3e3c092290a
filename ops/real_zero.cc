#include "ops/real_zero.h"

#include "ops/tensor_view.h"

namespace edgekiln::ops {
namespace {

bool IsInteger(v1::ElementType type) {
  return type != v1::FLOAT16 && type != v1::FLOAT32 && type != v1::FLOAT64 &&
         type != v1::BOOL;
}

}  // namespace

std::string RealZero(v1::ElementType type, int64_t elements,
                     int32_t zero_point) {
  const int64_t bytes = ElementBytes(type);
  std::string values(static_cast<size_t>(elements * bytes), '\0');
  if (!IsInteger(type) || zero_point == 0) return values;
  const auto bits = static_cast<uint64_t>(int64_t{zero_point});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto byte = i % static_cast<size_t>(bytes);
    values[i] = static_cast<char>(bits >> (8 * byte) & 0xff);
  }
  return values;
}

}  // namespace edgekiln::ops
