#include "server/stage_chain.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

absl::Status Fill(const std::vector<const v1::StageResult*>& before,
                  v1::BlobRef& input) {
  for (auto result = before.rbegin(); result != before.rend(); ++result) {
    const v1::BlobRef* found = nullptr;
    for (const v1::BlobRef& output : (*result)->outputs()) {
      if (output.role() != input.role()) continue;
      if (found != nullptr) {
        return absl::InternalError(
            absl::StrCat("a stage of the chain has more than one output '",
                         input.role(), "'"));
      }
      found = &output;
    }
    if (found == nullptr) continue;
    *input.mutable_digest() = found->digest();
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("no stage of the chain has an output '", input.role(), "'"));
}

}  // namespace

absl::StatusOr<std::vector<v1::BlobRef>> ChainedInputs(
    std::vector<v1::BlobRef> inputs,
    const std::vector<const v1::StageResult*>& before) {
  for (v1::BlobRef& input : inputs) {
    if (input.has_digest()) continue;
    EK_RETURN_IF_ERROR(Fill(before, input));
  }
  return inputs;
}

}  // namespace edgekiln::server
