#ifndef EK_BASE_ERROR_H_
#define EK_BASE_ERROR_H_

// Errors a person can act on: an absl::Status that also says, field by field,
// what is wrong, where, which limit applies, what was needed, how to fix it,
// and whose fault it is. The fields travel as a payload of the status and
// survive Annotate().

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace edgekiln {

// Decides the exit code of the CLI and whether a result may be cached.
enum class Fault {
  kUser,   // The model, the data, the target or the request.
  kQuota,  // A limit of this service.
  kInfra,  // Ours: a lost worker, a full disk, a bug.
};

// Every string but `what` may be empty; name those you set:
// MakeError(code, {.reason = "..", .what = ".."}). MakeError() keeps at most
// kMaxErrorFieldBytes of each.
struct ErrorDetail {
  Fault fault = Fault::kUser;
  std::string reason{};  // Stable, UPPER_SNAKE, for programs: "OP_UNSUPPORTED".
  std::string what{};    // What went wrong.
  std::string where{};   // Op, tensor, file, line, command.
  std::string limit{};   // What the limit is.
  std::string need{};    // What was needed instead.
  std::string fix{};     // What to do.

  friend bool operator==(const ErrorDetail&, const ErrorDetail&) = default;
};

// Six fields fit the 8 KiB that gRPC allows for the trailers of a call.
inline constexpr int kMaxErrorFieldBytes = 512;

// A status with the message "what; where: ..; limit: ..; need: ..; fix: .."
// (empty fields left out) and `detail` as its payload. Fields may hold text of
// hostile origin: over-long ones are cut, control characters and invalid UTF-8
// become '?'. `code` must not be OK.
absl::Status MakeError(absl::StatusCode code, ErrorDetail detail);

// The detail of a status made by MakeError(), also after Annotate(). Empty for
// other statuses and for payloads that do not parse.
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

// `text` as UTF-8 on one line, for messages and protobuf strings: control
// characters and invalid UTF-8 become '?', and what exceeds `max_bytes` is
// replaced by "...".
std::string SanitizeText(const std::string& text, int max_bytes);

}  // namespace edgekiln

#endif  // EK_BASE_ERROR_H_
