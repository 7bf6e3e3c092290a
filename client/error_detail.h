#ifndef EK_CLIENT_ERROR_DETAIL_H_
#define EK_CLIENT_ERROR_DETAIL_H_

// Errors as they travel (edgekiln.v1.ErrorDetail) and as they are returned here
// (absl::Status made by MakeError(), base/error.h).

#include "absl/status/status.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::client {

// Never OK. A code that is no google.rpc.Code is replaced by one that fits the
// fault. The message is `error.message` if that is set.
absl::Status StatusFromDetail(const v1::ErrorDetail& error);

// `status` must not be OK. A status without detail gets one whose `what` is its
// message and whose fault is INFRA unless the code says otherwise.
v1::ErrorDetail DetailFromStatus(const absl::Status& status);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_ERROR_DETAIL_H_
