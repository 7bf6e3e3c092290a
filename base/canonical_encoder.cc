#include "base/canonical_encoder.h"

namespace edgekiln {

CanonicalEncoder::CanonicalEncoder(absl::string_view domain) { Add(domain); }

void CanonicalEncoder::Add(absl::string_view bytes) {
  bytes_.push_back('s');
  Varint(bytes.size());
  bytes_.append(bytes.data(), bytes.size());
}

void CanonicalEncoder::Add(const Digest& digest) {
  Add(absl::string_view(digest.hash));
  Signed(digest.size_bytes);
}

void CanonicalEncoder::BeginList(int64_t count) {
  bytes_.push_back('l');
  Varint(static_cast<uint64_t>(count));
}

void CanonicalEncoder::Unsigned(uint64_t value) {
  bytes_.push_back('u');
  Varint(value);
}

void CanonicalEncoder::Signed(int64_t value) {
  bytes_.push_back('i');
  // Zigzag: small magnitudes of either sign stay short.
  Varint((static_cast<uint64_t>(value) << 1) ^
         static_cast<uint64_t>(value >> 63));
}

void CanonicalEncoder::Bool(bool value) {
  bytes_.push_back('b');
  bytes_.push_back(value ? '\1' : '\0');
}

void CanonicalEncoder::Varint(uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>((value & 0x7F) | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
}

}  // namespace edgekiln
