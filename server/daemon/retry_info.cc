#include "server/daemon/retry_info.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

// Never leaves the process: rpc_status.cc writes google.rpc.RetryInfo.
constexpr char kPayload[] = "edgekiln/retry-delay-ms";

// Somebody must delete something.
constexpr absl::Duration kDiskDelay = absl::Seconds(30);
constexpr absl::Duration kDelay = absl::Seconds(5);

}  // namespace

absl::Status WithRetryDelay(const absl::Status& status, absl::Duration delay) {
  if (status.ok()) return status;
  delay = std::clamp(delay, kMinRetryDelay, kMaxRetryDelay);
  absl::Status out = status;
  out.SetPayload(kPayload,
                 absl::Cord(absl::StrCat(absl::ToInt64Milliseconds(delay))));
  return out;
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) && !absl::IsUnavailable(status)) {
    return std::nullopt;
  }
  if (const auto payload = status.GetPayload(kPayload); payload.has_value()) {
    int64_t ms = 0;
    if (absl::SimpleAtoi(std::string(*payload), &ms)) {
      return absl::Milliseconds(ms);
    }
  }
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) return std::nullopt;
  const std::string& reason = detail->reason;
  if (reason == "DISK_FULL") return kDiskDelay;
  if (reason == "SHUTTING_DOWN") return kMinRetryDelay;
  if (reason == "CANCEL_NOT_DURABLE" || reason == "NO_THREAD" ||
      absl::EndsWith(reason, "_FULL") ||
      absl::StartsWith(reason, "TOO_MANY_")) {
    return kDelay;
  }
  return std::nullopt;
}

}  // namespace edgekiln::server
