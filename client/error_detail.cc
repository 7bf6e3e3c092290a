#include "client/error_detail.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

constexpr char kLinesUrl[] = "type.edgekiln/ErrorLines";

}  // namespace

v1::ErrorDetail DetailFromStatus(const absl::Status& status) {
  v1::ErrorDetail detail = ErrorToProto(status);
  if (!GetErrorDetail(status).has_value()) {
    const bool user = ExitCodeFor(status) == ExitCode::kModel;
    detail.set_fault(user ? v1::ErrorDetail::USER : v1::ErrorDetail::INFRA);
  }
  return detail;
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
