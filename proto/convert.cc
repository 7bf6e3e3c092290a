#include "proto/convert.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln {
namespace {

// Above what gRPC can deliver.
constexpr int kMaxMessageBytes = 4096;
constexpr char kNoReason[] = "no reason was given";

Fault FaultOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kUnimplemented:
      return Fault::kUser;
    case absl::StatusCode::kResourceExhausted:
      return Fault::kQuota;
    default:
      return Fault::kInfra;
  }
}

v1::ErrorDetail::Fault ToProto(Fault fault) {
  switch (fault) {
    case Fault::kUser:
      return v1::ErrorDetail::USER;
    case Fault::kQuota:
      return v1::ErrorDetail::QUOTA;
    case Fault::kInfra:
      return v1::ErrorDetail::INFRA;
  }
  return v1::ErrorDetail::INFRA;
}

Fault FromProto(v1::ErrorDetail::Fault fault) {
  if (fault == v1::ErrorDetail::USER) return Fault::kUser;
  if (fault == v1::ErrorDetail::QUOTA) return Fault::kQuota;
  return Fault::kInfra;
}

absl::StatusCode CodeOf(const v1::ErrorDetail& error) {
  if (error.code() >= 1 && error.code() <= 16) {
    return static_cast<absl::StatusCode>(error.code());
  }
  switch (FromProto(error.fault())) {
    case Fault::kUser:
      return absl::StatusCode::kInvalidArgument;
    case Fault::kQuota:
      return absl::StatusCode::kResourceExhausted;
    case Fault::kInfra:
      break;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

v1::Digest ToProto(const Digest& digest) {
  v1::Digest out;
  out.set_hash(digest.hash);
  out.set_size_bytes(digest.size_bytes);
  return out;
}

absl::StatusOr<Digest> FromProto(const v1::Digest& digest) {
  Digest out{digest.hash(), digest.size_bytes()};
  EK_RETURN_IF_ERROR(ValidateDigest(out));
  return out;
}

v1::ErrorDetail ErrorToProto(const absl::Status& status) {
  const std::string message =
      SanitizeText(std::string(status.message()), kMaxMessageBytes);
  const ErrorDetail detail = GetErrorDetail(status).value_or(
      ErrorDetail{.fault = FaultOfCode(status.code()),
                  .reason = absl::StatusCodeToString(status.code()),
                  .what = message.empty() ? kNoReason : message});
  v1::ErrorDetail out;
  out.set_fault(ToProto(detail.fault));
  out.set_reason(detail.reason);
  out.set_what(detail.what);
  out.set_where(detail.where);
  out.set_limit(detail.limit);
  out.set_need(detail.need);
  out.set_fix(detail.fix);
  out.set_code(static_cast<int>(status.code()));
  out.set_message(message);
  return out;
}

absl::Status StatusFromProto(const v1::ErrorDetail& error) {
  std::string what = error.what();
  if (what.empty()) what = error.message();
  if (what.empty()) what = kNoReason;
  absl::Status made =
      MakeError(CodeOf(error), {.fault = FromProto(error.fault()),
                                .reason = error.reason(),
                                .what = std::move(what),
                                .where = error.where(),
                                .limit = error.limit(),
                                .need = error.need(),
                                .fix = error.fix()});
  if (error.message().empty()) return made;
  // With the context that was put in front of it.
  absl::Status status(made.code(),
                      SanitizeText(error.message(), kMaxMessageBytes));
  made.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  return status;
}

}  // namespace edgekiln
