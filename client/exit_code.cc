#include "client/exit_code.h"

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace edgekiln::client {
namespace {

// Errors that carry no detail come from gRPC itself or from our own slips; the
// user is to blame only where the code says that the request was wrong.
Fault FaultOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return Fault::kUser;
    case absl::StatusCode::kResourceExhausted:
      return Fault::kQuota;
    default:
      return Fault::kInfra;
  }
}

}  // namespace

ExitCode ExitCodeFor(const absl::Status& status) {
  if (status.ok()) return ExitCode::kPass;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (detail.has_value()) {
    if (detail->reason == kReasonUsage) return ExitCode::kUsage;
    if (detail->reason == kReasonGate) return ExitCode::kGate;
    if (detail->reason == kReasonNoWorker) return ExitCode::kInfra;
    if (detail->reason == kReasonQueueDeadline) return ExitCode::kInfra;
    if (detail->reason == kReasonUnreachable) return ExitCode::kInfra;
  }
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kAuth;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kDeadline;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      break;
  }
  const Fault fault =
      detail.has_value() ? detail->fault : FaultOfCode(status.code());
  return fault == Fault::kUser ? ExitCode::kModel : ExitCode::kInfra;
}

absl::Status UsageError(absl::string_view what, absl::string_view where,
                        absl::string_view need, absl::string_view fix) {
  ErrorDetail detail{.fault = Fault::kUser, .reason = kReasonUsage};
  detail.what = std::string(what);
  detail.where = std::string(where);
  detail.need = std::string(need);
  detail.fix = std::string(fix);
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

}  // namespace edgekiln::client
