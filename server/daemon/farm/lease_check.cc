#include "server/daemon/farm/lease_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

// Half of what the daemon sends in one message.
constexpr size_t kMaxLeaseBytes = 8 << 20;

}  // namespace

absl::Status CheckLease(const LeaseRequest& request,
                        const Quarantine* quarantine) {
  size_t bytes = request.options.ByteSizeLong();
  for (const v1::BlobRef& input : request.inputs) {
    bytes += input.ByteSizeLong();
  }
  for (const LeaseRequest::Next& next : request.next) {
    bytes += next.options.ByteSizeLong();
    for (const v1::BlobRef& input : next.inputs) bytes += input.ByteSizeLong();
  }
  if (bytes > kMaxLeaseBytes) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kQuota,
         .reason = "LEASE_TOO_LARGE",
         .what = "a stage has too many inputs or too large options",
         .where = absl::StrCat("stage ", request.stage),
         .limit = absl::StrCat(kMaxLeaseBytes >> 20, " MiB"),
         .need = absl::StrCat(bytes, " bytes for ", request.inputs.size(),
                              " inputs"),
         .fix = "use fewer external data files, or a smaller --limit"});
  }
  if (quarantine == nullptr || request.key.empty()) return absl::OkStatus();
  return quarantine->Check(request.key);
}

void LeaveOutQuarantined(const Quarantine* quarantine, LeaseRequest& request) {
  if (quarantine == nullptr) return;
  const auto first = std::find_if(request.next.begin(), request.next.end(),
                                  [&](const LeaseRequest::Next& next) {
                                    return !next.key.empty() &&
                                           !quarantine->Check(next.key).ok();
                                  });
  request.next.erase(first, request.next.end());
}

}  // namespace edgekiln::server
