#ifndef EK_BASE_FINGERPRINT_H_
#define EK_BASE_FINGERPRINT_H_

// Tells whether two long values that are not at hand together are equal, at a
// few bytes per nanosecond: several times as fast as SHA-256.

#include <array>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"

namespace edgekiln {

// Two Poly1305 tags under two fixed keys. Different values of up to 2 GiB that
// were chosen without regard to the keys share both with a probability below
// 2^-150, however little they differ. Not for what somebody may want to forge:
// the keys are no secret. Names of blobs are SHA-256 (base/digest.h).
using Fingerprint = std::array<uint8_t, 32>;

// Not thread-safe; movable.
class Fingerprinter {
 public:
  Fingerprinter();
  ~Fingerprinter();
  Fingerprinter(Fingerprinter&&) noexcept;
  Fingerprinter& operator=(Fingerprinter&&) noexcept;

  Fingerprint Of(absl::string_view bytes);

 private:
  struct State;  // Keeps OpenSSL out of this header.
  std::unique_ptr<State> state_;
};

}  // namespace edgekiln

#endif  // EK_BASE_FINGERPRINT_H_
