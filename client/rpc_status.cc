#include "client/rpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/cord.h"
#include "base/error.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "edgekiln/v1/error.pb.h"
#include "google/rpc/error_details.pb.h"
#include "proto/convert.h"

namespace edgekiln::client {

namespace {

constexpr char kRetryUrl[] = "type.googleapis.com/google.rpc.RetryInfo";

// The same, with the RetryInfo of `rpc` if it has one.
absl::Status WithRetryInfo(absl::Status status,
                           const google::rpc::Status& rpc) {
  for (const google::protobuf::Any& any : rpc.details()) {
    if (any.Is<google::rpc::RetryInfo>()) {
      status.SetPayload(kRetryUrl, absl::Cord(any.value()));
    }
  }
  return status;
}

}  // namespace

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryUrl);
  google::rpc::RetryInfo retry;
  if (!payload.has_value() || !retry.ParseFromString(std::string(*payload)) ||
      !retry.has_retry_delay()) {
    return std::nullopt;
  }
  return absl::Seconds(retry.retry_delay().seconds()) +
         absl::Nanoseconds(retry.retry_delay().nanos());
}

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  for (const google::protobuf::Any& any : status.details()) {
    v1::ErrorDetail detail;
    if (!any.Is<v1::ErrorDetail>() || !any.UnpackTo(&detail)) continue;
    detail.set_code(status.code());
    if (detail.message().empty()) detail.set_message(status.message());
    return WithRetryInfo(StatusFromProto(detail), status);
  }
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      SanitizeText(status.message(), 4096));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details()) ||
      rich.code() != status.error_code()) {
    rich.Clear();
  }
  rich.set_code(status.error_code());
  rich.set_message(status.error_message());
  return FromRpcStatus(rich);
}

bool IsTransient(const absl::Status& status) {
  if (const auto detail = GetErrorDetail(status); detail.has_value()) {
    return detail->reason == kReasonShuttingDown;
  }
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    // What a daemon that dies in the middle of a stream leaves behind.
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

}  // namespace edgekiln::client
