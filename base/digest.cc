#include "base/digest.h"

#include <openssl/evp.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln {
namespace {

absl::Status Malformed(absl::string_view what, absl::string_view where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "DIGEST_MALFORMED",
                    .what = std::string(what),
                    .where = std::string(where),
                    .need = "64 lower-case hex digits of SHA-256 and a size in "
                            "bytes >= 0",
                    .fix = "send the SHA-256 and the length of the blob"});
}

// Branch-free, so that it vectorizes: stores look at every digest that they are
// asked for.
bool IsHash(absl::string_view text) {
  constexpr size_t kDigits = 64;
  if (text.size() != kDigits) return false;
  uint8_t is_hex = 1;
  for (size_t i = 0; i < kDigits; ++i) {
    const auto digit = static_cast<uint8_t>(text[i] - '0');
    const auto letter = static_cast<uint8_t>(text[i] - 'a');
    is_hex &=
        static_cast<uint8_t>(digit < 10) | static_cast<uint8_t>(letter < 6);
  }
  return is_hex != 0;
}

// SHA-256 of the provider fails only when memory is exhausted.
void Require(int ok) {
  if (ok != 1) std::abort();
}

// EVP_sha256() has OpenSSL look the algorithm up at each use, which takes as
// long as hashing some hundred bytes.
const EVP_MD* Algorithm() {
  static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kSha256;
}

}  // namespace

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) {
    Require(context != nullptr);
    Require(EVP_DigestInit_ex(context, Algorithm(), nullptr));
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(absl::string_view bytes) {
  Require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
  size_bytes_ += static_cast<int64_t>(bytes.size());
}

Digest Sha256::Finish() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  Require(EVP_DigestFinal_ex(state_->context, raw, &size));
  return Digest{ToHex({reinterpret_cast<const char*>(raw), size}), size_bytes_};
}

std::string Digest::ToString() const {
  return absl::StrCat(hash, "/", size_bytes);
}

absl::Status ValidateDigest(const Digest& digest) {
  if (!IsHash(digest.hash)) {
    return Malformed("the hash of a digest is malformed", digest.hash);
  }
  if (digest.size_bytes < 0) {
    return Malformed("the size of a digest is negative", digest.ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<Digest> ParseDigest(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) {
    return Malformed("a digest has no '/'", text);
  }
  Digest digest;
  digest.hash = std::string(text.substr(0, slash));
  const absl::string_view size = text.substr(slash + 1);
  // SimpleAtoi also takes signs and blanks; one spelling per digest.
  if (size.empty() || !absl::ascii_isdigit(size[0]) ||
      (size.size() > 1 && size[0] == '0') ||
      !absl::ascii_isdigit(size.back()) ||
      !absl::SimpleAtoi(size, &digest.size_bytes) || !IsHash(digest.hash)) {
    return Malformed("a digest is malformed", text);
  }
  return digest;
}

Digest DigestOf(absl::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Finish();
}

std::string ToHex(absl::string_view bytes) {
  return absl::BytesToHexString(bytes);
}

}  // namespace edgekiln
