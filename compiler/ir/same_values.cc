#include "compiler/ir/same_values.h"

#include <cstdint>
#include <cstring>

namespace edgekiln::compiler {
namespace {

// Calls visit(type of the bits, infinity's bits); false if there is no NaN of
// that type.
template <typename Visit>
bool WithFloatBits(v1::ElementType type, Visit visit) {
  switch (type) {
    case v1::FLOAT16:
      visit(uint16_t{0x7c00});
      return true;
    case v1::FLOAT32:
      visit(uint32_t{0x7f800000});
      return true;
    case v1::FLOAT64:
      visit(uint64_t{0x7ff0000000000000});
      return true;
    default:
      return false;
  }
}

template <typename Bits>
bool IsNan(const char* at, Bits infinity) {
  Bits bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return static_cast<Bits>(bits & static_cast<Bits>(~Bits{0} >> 1)) > infinity;
}

}  // namespace

bool SameValues(v1::ElementType type, absl::string_view a,
                absl::string_view b) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  bool same = true;
  const bool is_float = WithFloatBits(type, [&](auto infinity) {
    constexpr size_t kBytes = sizeof(infinity);
    if (a.size() % kBytes != 0) {
      same = false;
      return;
    }
    for (size_t at = 0; same && at < a.size(); at += kBytes) {
      same = std::memcmp(a.data() + at, b.data() + at, kBytes) == 0 ||
             (IsNan(a.data() + at, infinity) && IsNan(b.data() + at, infinity));
    }
  });
  return is_float && same;
}

absl::string_view WithOneNan(v1::ElementType type, absl::string_view values,
                             std::string& room) {
  bool copied = false;
  WithFloatBits(type, [&](auto infinity) {
    constexpr size_t kBytes = sizeof(infinity);
    const auto nan =
        static_cast<decltype(infinity)>(infinity | (infinity >> 1));
    for (size_t at = 0; at + kBytes <= values.size(); at += kBytes) {
      if (!IsNan(values.data() + at, infinity)) continue;
      if (!copied) room.assign(values.data(), values.size());
      copied = true;
      std::memcpy(room.data() + at, &nan, kBytes);
    }
  });
  return copied ? absl::string_view(room) : values;
}

}  // namespace edgekiln::compiler
