#include "server/daemon/rpc_status.h"

#include <string>

#include "edgekiln/v1/error.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/proto_convert.h"

namespace edgekiln::server {
namespace {

constexpr char kDomain[] = "edgekiln";
// All details travel in HTTP/2 trailers, which gRPC limits to 8 KiB.
constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail = ErrorToProto(status);
  std::string message =
      SanitizeText(detail.message(), static_cast<int>(kMaxMessageBytes));
  detail.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(detail.reason());
  info.set_domain(kDomain);
  (*info.mutable_metadata())["fault"] =
      v1::ErrorDetail::Fault_Name(detail.fault());
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(status.code()));
  rich.set_message(message);
  rich.add_details()->PackFrom(detail);
  rich.add_details()->PackFrom(info);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      rich.SerializeAsString());
}

}  // namespace edgekiln::server
