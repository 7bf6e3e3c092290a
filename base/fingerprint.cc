#include "base/fingerprint.h"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdlib>

namespace edgekiln {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kTagBytes = 16;

// Bits of the square roots of 2 and 3, in whose place any others would do.
constexpr unsigned char kKeys[2][kKeyBytes] = {
    {0x6a, 0x09, 0xe6, 0x67, 0xf3, 0xbc, 0xc9, 0x08, 0xb2, 0xfb, 0x13,
     0x66, 0xea, 0x95, 0x7d, 0x3e, 0x3a, 0xde, 0xc1, 0x75, 0x12, 0x77,
     0x50, 0x99, 0xda, 0x2f, 0x59, 0x0b, 0x06, 0x67, 0x32, 0x2a},
    {0xbb, 0x67, 0xae, 0x85, 0x84, 0xca, 0xa7, 0x3b, 0x25, 0x74, 0x2d,
     0x70, 0x78, 0xb8, 0x3b, 0x89, 0x25, 0xd8, 0x34, 0xcc, 0x53, 0xda,
     0x47, 0x98, 0xc7, 0x20, 0xa6, 0x48, 0x6e, 0x45, 0xa6, 0xe2}};

// Poly1305 of the provider fails only when memory is exhausted.
void Require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

struct Fingerprinter::State {
  State() {
    EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
    Require(mac != nullptr);
    context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);  // The context keeps it.
    Require(context != nullptr);
  }
  ~State() { EVP_MAC_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MAC_CTX* context;
};

Fingerprinter::Fingerprinter() : state_(std::make_unique<State>()) {}
Fingerprinter::~Fingerprinter() = default;
Fingerprinter::Fingerprinter(Fingerprinter&&) noexcept = default;
Fingerprinter& Fingerprinter::operator=(Fingerprinter&&) noexcept = default;

Fingerprint Fingerprinter::Of(absl::string_view bytes) {
  Fingerprint print;
  EVP_MAC_CTX* const context = state_->context;
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  for (size_t i = 0; i < 2; ++i) {
    size_t size = 0;
    Require(EVP_MAC_init(context, kKeys[i], kKeyBytes, nullptr) == 1);
    Require(EVP_MAC_update(context, data, bytes.size()) == 1);
    Require(EVP_MAC_final(context, print.data() + i * kTagBytes, &size,
                          kTagBytes) == 1);
    Require(size == kTagBytes);
  }
  return print;
}

}  // namespace edgekiln
