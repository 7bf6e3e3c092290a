#ifndef EK_SERVER_PROTO_CONVERT_H_
#define EK_SERVER_PROTO_CONVERT_H_

// Between the values of base/ and the messages of proto/. Thread-safe.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/error.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::server {

v1::Digest ToProto(const Digest& digest);
// Errors: INVALID_ARGUMENT (not 64 lower-case hex digits and a size >= 0).
absl::StatusOr<Digest> FromProto(const v1::Digest& digest);

// What `status` says, as a message. A status without a detail becomes one whose
// fault follows from its code: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE,
// FAILED_PRECONDITION, ALREADY_EXISTS and UNIMPLEMENTED are the user's,
// RESOURCE_EXHAUSTED is QUOTA, the rest INFRA. `status` must not be OK.
v1::ErrorDetail ErrorToProto(const absl::Status& status);
// The reverse: code, message and detail. Never OK; a missing code is INTERNAL.
absl::Status StatusFromProto(const v1::ErrorDetail& error);

}  // namespace edgekiln::server

#endif  // EK_SERVER_PROTO_CONVERT_H_
