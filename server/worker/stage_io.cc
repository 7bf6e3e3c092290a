#include "server/worker/stage_io.h"

#include <algorithm>

#include "server/worker_limits.h"

namespace edgekiln::server {

bool StageInputs::Has(absl::string_view role) const {
  return std::any_of(blobs_.begin(), blobs_.end(),
                     [&](const Blob& blob) { return blob.role == role; });
}

absl::StatusOr<absl::string_view> StageInputs::One(
    absl::string_view role) const {
  const absl::StatusOr<std::vector<absl::string_view>> all = All(role);
  if (!all.ok()) return all.status();
  if (all->size() != 1) {
    return absl::InternalError(absl::StrCat(
        "stage has ", all->size(), " inputs '", role, "' where it needs one"));
  }
  return all->front();
}

absl::StatusOr<std::vector<absl::string_view>> StageInputs::All(
    absl::string_view role) const {
  std::vector<absl::string_view> all;
  std::vector<int> absent;    // Positions in the lease
  std::vector<size_t> place;  // and in `all`.
  for (size_t i = 0; i < blobs_.size(); ++i) {
    if (blobs_[i].role != role) continue;
    if (!blobs_[i].bytes) {
      absent.push_back(static_cast<int>(i));
      place.push_back(all.size());
    }
    all.push_back(blobs_[i].bytes.value_or(""));
  }
  if (absent.empty()) return all;
  if (source_ == nullptr) return absl::InternalError("inputs without a source");
  const absl::StatusOr<std::vector<absl::string_view>> fetched =
      source_->Get(absent);
  if (!fetched.ok()) return fetched.status();
  for (size_t i = 0; i < place.size(); ++i) all[place[i]] = (*fetched)[i];
  return all;
}

absl::Status StageInputs::Fetch(
    std::initializer_list<absl::string_view> roles) const {
  std::vector<int> absent;
  for (size_t i = 0; i < blobs_.size(); ++i) {
    if (!blobs_[i].bytes &&
        std::find(roles.begin(), roles.end(), blobs_[i].role) != roles.end()) {
      absent.push_back(static_cast<int>(i));
    }
  }
  if (absent.empty()) return absl::OkStatus();
  if (source_ == nullptr) return absl::InternalError("inputs without a source");
  return source_->Get(absent).status();
}

absl::Status StageInputs::CheckMemory(std::optional<int64_t> need_bytes,
                                      absl::string_view what) const {
  if (memory_limit_bytes_ == 0) return absl::OkStatus();
  if (need_bytes && *need_bytes <= memory_limit_bytes_) return absl::OkStatus();
  return OverMemoryLimit(what, memory_limit_bytes_, need_bytes);
}

void StageInputs::AppendName(absl::string_view role, std::string& key,
                             int64_t& bytes) const {
  for (const Blob& blob : blobs_) {
    if (blob.role != role) continue;
    const Digest digest = blob.digest ? *blob.digest : DigestOf(*blob.bytes);
    absl::StrAppend(&key, " ", role, "=", digest.ToString());
    bytes += digest.size_bytes;
  }
}

}  // namespace edgekiln::server
