#include "server/daemon/http/answer.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/daemon/http/call_message.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

// Of RetryInfo; 0 without one.
int RetrySecondsOf(const google::rpc::Status& status) {
  google::rpc::RetryInfo retry;
  for (const google::protobuf::Any& detail : status.details()) {
    if (!detail.UnpackTo(&retry)) continue;
    const int64_t seconds = retry.retry_delay().seconds() +
                            (retry.retry_delay().nanos() > 0 ? 1 : 0);
    return static_cast<int>(std::clamp<int64_t>(seconds, 1, 3600));
  }
  return 0;
}

// The text of a JSON string.
std::string Quoted(absl::string_view text) {
  google::rpc::Status only;
  only.set_message(std::string(text));
  const std::string json = ToJson(only);  // {"message":"..."}
  const size_t colon = json.find(':');
  if (colon == std::string::npos) return "\"\"";
  return json.substr(colon + 1, json.size() - colon - 2);
}

}  // namespace

int HttpCodeOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return 200;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
      return 400;
    case grpc::StatusCode::UNAUTHENTICATED:
      return 401;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
      return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case grpc::StatusCode::CANCELLED:
      return 499;
    case grpc::StatusCode::UNIMPLEMENTED:
      return 501;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

HttpAnswer ErrorAnswer(const grpc::Status& status, int code) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) rich.Clear();
  google::rpc::Status details;
  *details.mutable_details() = rich.details();
  HttpAnswer answer;
  answer.code = code != 0 ? code : HttpCodeOf(status.error_code());
  answer.retry_seconds = RetrySecondsOf(rich);
  const std::string json = ToJson(details);  // {"details":[...]}, or {}
  absl::StrAppend(&answer.body, "{\"error\":{\"code\":", answer.code,
                  ",\"status\":\"",
                  absl::StatusCodeToString(
                      static_cast<absl::StatusCode>(status.error_code())),
                  "\",\"message\":", Quoted(status.error_message()));
  if (json.size() > 2) {
    absl::StrAppend(&answer.body, ",", json.substr(1, json.size() - 2));
  }
  absl::StrAppend(&answer.body, "}}\n");
  return answer;
}

HttpAnswer ErrorAnswer(const absl::Status& status, int code) {
  return ErrorAnswer(ToGrpc(status), code);
}

}  // namespace edgekiln::server
