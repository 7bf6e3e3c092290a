#ifndef EK_COMPILER_DOCUMENT_TESTING_SEALED_H_
#define EK_COMPILER_DOCUMENT_TESTING_SEALED_H_

// Documents that say of themselves that they are complete, whatever is in them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/digest.h"

namespace edgekiln::compiler {

// Where docs/bundle.md says they are.
inline constexpr size_t kDocumentGraphBytesAt = 16;
inline constexpr size_t kDocumentContentAt = 24;
inline constexpr size_t kDocumentHashBytes = 32;

// `document` with another SHA-256: that of its own bytes.
inline std::string Sealed(std::string document) {
  if (document.size() < kDocumentHashBytes) return document;
  document.resize(document.size() - kDocumentHashBytes);
  return document + absl::HexStringToBytes(DigestOf(document).hash);
}

// The same, and the graph reaches as far as there are bytes for it.
inline std::string SealedWithSizes(std::string document) {
  const size_t least = kDocumentContentAt + kDocumentHashBytes;
  if (document.size() < least) return document;
  uint64_t origin = 0;
  for (int i = 3; i >= 0; --i) {
    origin = origin << 8 | static_cast<uint8_t>(document[12 + i]);
  }
  uint64_t graph = document.size() - least - origin;
  for (size_t i = 0; i < 8; ++i) {
    document[kDocumentGraphBytesAt + i] = static_cast<char>(graph >> (8 * i));
  }
  return Sealed(std::move(document));
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DOCUMENT_TESTING_SEALED_H_
