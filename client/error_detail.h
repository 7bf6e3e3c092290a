#ifndef EK_CLIENT_ERROR_DETAIL_H_
#define EK_CLIENT_ERROR_DETAIL_H_

// What errors become on their way to the person at the terminal.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::client {

// ErrorToProto(), but the fault of an error without detail is the one that the
// exit code says: such errors come from gRPC or from our own slips.
v1::ErrorDetail DetailFromStatus(const absl::Status& status);

// The same where --server was given as `server` (or "", not at all): a fix that
// ends with a command to a daemon, which does not know by what address it was
// found, gets the option.
v1::ErrorDetail WithServer(v1::ErrorDetail error, const std::string& server);

// An error that consists of several: `what` sums them up, each line is one of
// them, clean text. Unlike the fields of ErrorDetail, which fit a gRPC trailer,
// lines are neither counted nor cut; they stay in this process.
absl::Status WithLines(absl::Status status,
                       const std::vector<std::string>& lines);
// Those of WithLines(); empty for other errors.
std::vector<std::string> LinesOf(const absl::Status& status);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_ERROR_DETAIL_H_
