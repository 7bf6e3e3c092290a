#ifndef EK_CLIENT_PARSE_REPORTS_H_
#define EK_CLIENT_PARSE_REPORTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// What `--json` printed: a Report, or a list of them. `json` is hostile. A
// usage error naming `source` for anything else.
absl::StatusOr<std::vector<v1::Report>> ParseReports(absl::string_view json,
                                                     absl::string_view source);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PARSE_REPORTS_H_
