#ifndef EK_CLIENT_RPC_STATUS_H_
#define EK_CLIENT_RPC_STATUS_H_

// gRPC's status as ours.

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace edgekiln::client {

// Keeps the code (the numbers are the same), and the edgekiln.v1.ErrorDetail
// that our daemon puts into the rich error details. Errors of gRPC itself have
// none.
absl::Status FromGrpc(const grpc::Status& status);
absl::Status FromRpcStatus(const google::rpc::Status& status);

// How long the daemon asks to wait before the same request is sent again; empty
// if it does not.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// Whether trying again can help: the connection broke, or nobody answered.
// Errors that our daemon explained are its answer and final.
bool IsTransient(const absl::Status& status);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RPC_STATUS_H_
