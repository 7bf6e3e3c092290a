#ifndef EK_SERVER_DAEMON_RPC_STATUS_H_
#define EK_SERVER_DAEMON_RPC_STATUS_H_

// The one place where our errors become those of gRPC.

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace edgekiln::server {

// Same code and message; the detail, also for a status without one, travels as
// google.rpc.Status with an edgekiln.v1.ErrorDetail, a google.rpc.ErrorInfo
// and, where coming again helps, a google.rpc.RetryInfo (retry_info.h).
grpc::Status ToGrpc(const absl::Status& status);
// The same, for one of many answers in a message.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_RPC_STATUS_H_
