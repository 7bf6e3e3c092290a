#include "server/daemon/rpc_status.h"

#include <string>

#include "base/error.h"
#include "edgekiln/v1/error.pb.h"
#include "google/protobuf/util/time_util.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/convert.h"
#include "server/daemon/retry_info.h"

namespace edgekiln::server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr char kDomain[] = "edgekiln";
// All details travel in HTTP/2 trailers, which gRPC limits to 8 KiB.
constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status rich;
  if (status.ok()) return rich;
  v1::ErrorDetail detail = ErrorToProto(status);
  std::string message =
      SanitizeText(detail.message(), static_cast<int>(kMaxMessageBytes));
  detail.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(detail.reason());
  info.set_domain(kDomain);
  (*info.mutable_metadata())["fault"] =
      v1::ErrorDetail::Fault_Name(detail.fault());
  rich.set_code(static_cast<int>(status.code()));
  rich.set_message(message);
  rich.add_details()->PackFrom(detail);
  rich.add_details()->PackFrom(info);
  if (const auto delay = RetryDelayOf(status); delay.has_value()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() =
        TimeUtil::MillisecondsToDuration(absl::ToInt64Milliseconds(*delay));
    rich.add_details()->PackFrom(retry);
  }
  return rich;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rich = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      rich.message(), rich.SerializeAsString());
}

}  // namespace edgekiln::server
