#include "client/recipe_support.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::client {

absl::Status CheckKnowsRecipes(const std::string& asked,
                               const std::string& told) {
  if (asked.empty() || !told.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.fault = Fault::kInfra,
                    .reason = "RECIPES_UNSUPPORTED",
                    .what = "the daemon is older than recipes",
                    .where = absl::StrCat("--recipe ", asked),
                    .need = "a daemon of this edgekiln's version",
                    .fix = "update the daemon, or leave --recipe out"});
}

absl::Status CheckKnowsOffload(v1::Offload asked, const std::string& told) {
  const bool usual = asked == v1::OFFLOAD_UNSPECIFIED || asked == v1::ALL;
  if (usual || !told.empty()) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kInfra,
       .reason = "OFFLOAD_UNSUPPORTED",
       .what = "the daemon is older than --offload",
       .where = absl::StrCat("--offload ",
                             absl::AsciiStrToLower(v1::Offload_Name(asked))),
       .need = "a daemon of this edgekiln's version",
       .fix = "update the daemon, or leave --offload out"});
}

}  // namespace edgekiln::client
