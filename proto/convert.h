#ifndef EK_PROTO_CONVERT_H_
#define EK_PROTO_CONVERT_H_

// Between the values of base/ and their messages. Thread-safe.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln {

v1::Digest ToProto(const Digest& digest);
// Errors: INVALID_ARGUMENT (not 64 lower-case hex digits and a size >= 0).
absl::StatusOr<Digest> FromProto(const v1::Digest& digest);

// Code, message and detail of `status`, which must not be OK. Without a detail
// (base/error.h) its message becomes `what`, and the fault follows from the
// code: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION,
// ALREADY_EXISTS and UNIMPLEMENTED are USER, RESOURCE_EXHAUSTED is QUOTA, the
// rest INFRA.
v1::ErrorDetail ErrorToProto(const absl::Status& status);
// The reverse; never OK. A code that is no google.rpc.Code is replaced by one
// that fits the fault, a missing `what` by the message.
absl::Status StatusFromProto(const v1::ErrorDetail& error);

}  // namespace edgekiln

#endif  // EK_PROTO_CONVERT_H_
