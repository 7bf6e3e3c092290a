#ifndef EK_BASE_DIGEST_H_
#define EK_BASE_DIGEST_H_

// SHA-256 and the name of a blob: its hash and its length.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln {

// A value. Same meaning as edgekiln.v1.Digest and the Remote Execution API's.
struct Digest {
  std::string hash;        // SHA-256, 64 lower-case hex digits.
  int64_t size_bytes = 0;  // Exact length of the named bytes.

  // "hash/size", as in ByteStream resource names.
  std::string ToString() const;

  friend auto operator<=>(const Digest&, const Digest&) = default;
  friend bool operator==(const Digest&, const Digest&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Digest& digest) {
    return H::combine(std::move(state), digest.hash, digest.size_bytes);
  }
};

// Checks the form of a digest that came from outside: 64 lower-case hex digits
// and a size >= 0. INVALID_ARGUMENT otherwise.
absl::Status ValidateDigest(const Digest& digest);

// Parses "hash/size". INVALID_ARGUMENT for anything else.
absl::StatusOr<Digest> ParseDigest(absl::string_view text);

// Digest of `bytes`.
Digest DigestOf(absl::string_view bytes);

// Incremental SHA-256. Not thread-safe; movable.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(absl::string_view bytes);
  // Bytes handed to Update() so far.
  int64_t size_bytes() const { return size_bytes_; }
  // Hash and length of everything handed to Update(). Ends the use of this
  // object: call once, and Update() no more.
  Digest Finish();

 private:
  struct State;  // Keeps OpenSSL out of this header.
  std::unique_ptr<State> state_;
  int64_t size_bytes_ = 0;
};

// `bytes` as lower-case hex digits.
std::string ToHex(absl::string_view bytes);

}  // namespace edgekiln

template <>
struct std::hash<edgekiln::Digest> {
  size_t operator()(const edgekiln::Digest& digest) const noexcept {
    return std::hash<std::string>()(digest.hash);
  }
};

#endif  // EK_BASE_DIGEST_H_
