#include "server/daemon/jobs/seal.h"

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace edgekiln::server {
namespace {

constexpr size_t kSealBytes = 16;

std::string Checksum(absl::string_view key, absl::string_view payload) {
  Sha256 hash;
  hash.Update(absl::StrCat(key.size(), ":"));
  hash.Update(key);
  hash.Update(payload);
  return hash.Finish().hash.substr(0, kSealBytes);
}

}  // namespace

std::string Seal(absl::string_view key, absl::string_view payload) {
  return absl::StrCat(Checksum(key, payload), payload);
}

std::optional<std::string> Unseal(absl::string_view key,
                                  absl::string_view sealed) {
  if (sealed.size() < kSealBytes) return std::nullopt;
  const absl::string_view payload = sealed.substr(kSealBytes);
  if (Checksum(key, payload) != sealed.substr(0, kSealBytes)) {
    return std::nullopt;
  }
  return std::string(payload);
}

}  // namespace edgekiln::server
