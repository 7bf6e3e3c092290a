#ifndef EK_BASE_CANONICAL_ENCODER_H_
#define EK_BASE_CANONICAL_ENCODER_H_

// The byte string that names a stage result in the cache. Two inputs get the
// same bytes exactly if they hold the same values in the same order:
//
//   encoding := string(domain) value*
//   value    := 'u' varint            unsigned
//             | 'i' varint(zigzag)    signed
//             | 'b' 0|1               bool
//             | 's' varint bytes      string
//             | 'l' varint            list of that many values, which follow
//
// Varints are little-endian groups of seven bits, shortest form. Every value
// carries its kind, so that moving a border between fields changes the bytes.
// Field order is the order of the calls; there are no names, no maps and no
// floating-point values. A changed order or meaning needs a new domain.

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace edgekiln {

// Not thread-safe.
class CanonicalEncoder {
 public:
  // `domain` keeps the encodings of different things apart: "stage.tile".
  explicit CanonicalEncoder(absl::string_view domain);

  // Integers, enums and bools by their type.
  template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void Add(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      Bool(value);
    } else if constexpr (std::is_enum_v<T>) {
      Signed(static_cast<int64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      Signed(value);
    } else {
      Unsigned(value);
    }
  }
  // A float has no canonical text or order here; encode an integer instead.
  void Add(float) = delete;
  void Add(double) = delete;
  void Add(long double) = delete;
  void Add(const void*) = delete;
  void Add(absl::string_view bytes);
  void Add(const std::string& bytes) { Add(absl::string_view(bytes)); }
  void Add(const char* bytes) { Add(absl::string_view(bytes)); }
  void Add(const Digest& digest);

  // Announces `count` >= 0 values. A range is its count and its elements.
  void BeginList(int64_t count);
  template <typename Range>
  void AddList(const Range& range) {
    BeginList(static_cast<int64_t>(range.size()));
    for (const auto& element : range) Add(element);
  }

  const std::string& bytes() const { return bytes_; }
  Digest digest() const { return DigestOf(bytes_); }

 private:
  void Unsigned(uint64_t value);
  void Signed(int64_t value);
  void Bool(bool value);
  void Varint(uint64_t value);

  std::string bytes_;
};

}  // namespace edgekiln

#endif  // EK_BASE_CANONICAL_ENCODER_H_
