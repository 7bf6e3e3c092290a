#include "client/error_detail.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr char kLinesUrl[] = "type.edgekiln/ErrorLines";

// Longest message kept of an error; far above what gRPC can deliver.
constexpr int kMaxMessageBytes = 4096;

Fault FaultFromProto(v1::ErrorDetail::Fault fault) {
  switch (fault) {
    case v1::ErrorDetail::USER:
      return Fault::kUser;
    case v1::ErrorDetail::QUOTA:
      return Fault::kQuota;
    default:
      return Fault::kInfra;
  }
}

v1::ErrorDetail::Fault FaultToProto(Fault fault) {
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

absl::StatusCode CodeOf(const v1::ErrorDetail& error, Fault fault) {
  if (error.code() >= 1 && error.code() <= 16) {
    return static_cast<absl::StatusCode>(error.code());
  }
  switch (fault) {
    case Fault::kUser:
      return absl::StatusCode::kInvalidArgument;
    case Fault::kQuota:
      return absl::StatusCode::kResourceExhausted;
    case Fault::kInfra:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status StatusFromDetail(const v1::ErrorDetail& error) {
  const Fault fault = FaultFromProto(error.fault());
  ErrorDetail detail{.fault = fault,
                     .reason = error.reason(),
                     .what = error.what(),
                     .where = error.where(),
                     .limit = error.limit(),
                     .need = error.need(),
                     .fix = error.fix()};
  if (detail.what.empty()) detail.what = error.message();
  if (detail.what.empty()) detail.what = "the daemon gave no reason";
  absl::Status made = MakeError(CodeOf(error, fault), std::move(detail));
  if (error.message().empty()) return made;
  absl::Status with_message(made.code(),
                            SanitizeText(error.message(), kMaxMessageBytes));
  made.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    with_message.SetPayload(url, payload);
  });
  return with_message;
}

v1::ErrorDetail DetailFromStatus(const absl::Status& status) {
  v1::ErrorDetail out;
  out.set_code(static_cast<int>(status.code()));
  const std::string message =
      SanitizeText(std::string(status.message()), kMaxMessageBytes);
  out.set_message(message);
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) {
    const bool user = ExitCodeFor(status) == ExitCode::kModel;
    out.set_fault(user ? v1::ErrorDetail::USER : v1::ErrorDetail::INFRA);
    out.set_reason(absl::StatusCodeToString(status.code()));
    out.set_what(message.empty() ? "no reason was given" : message);
    return out;
  }
  out.set_fault(FaultToProto(detail->fault));
  out.set_reason(detail->reason);
  out.set_what(detail->what);
  out.set_where(detail->where);
  out.set_limit(detail->limit);
  out.set_need(detail->need);
  out.set_fix(detail->fix);
  return out;
}

v1::ErrorDetail WithServer(v1::ErrorDetail error, const std::string& server) {
  const bool command = absl::StrContains(error.fix(), "edgekiln quarantine ") ||
                       absl::StrContains(error.fix(), "edgekiln jobs ");
  if (command && !server.empty()) {
    absl::StrAppend(error.mutable_fix(), " --server ", server);
  }
  return error;
}

absl::Status WithLines(absl::Status status,
                       const std::vector<std::string>& lines) {
  status.SetPayload(kLinesUrl, absl::Cord(absl::StrJoin(lines, "\n")));
  return status;
}

std::vector<std::string> LinesOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kLinesUrl);
  if (!payload.has_value()) return {};
  return absl::StrSplit(std::string(*payload), '\n');
}

}  // namespace edgekiln::client
