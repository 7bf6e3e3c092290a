#include "server/worker/stage_io.h"

namespace edgekiln::server {

absl::StatusOr<absl::string_view> StageInputs::One(
    absl::string_view role) const {
  const std::vector<absl::string_view> all = All(role);
  if (all.size() != 1) {
    return absl::InternalError(absl::StrCat(
        "stage has ", all.size(), " inputs '", role, "' where it needs one"));
  }
  return all[0];
}

std::vector<absl::string_view> StageInputs::All(absl::string_view role) const {
  std::vector<absl::string_view> all;
  for (const auto& [name, bytes] : blobs_) {
    if (name == role) all.push_back(bytes);
  }
  return all;
}

}  // namespace edgekiln::server
