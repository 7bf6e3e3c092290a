#ifndef EK_CLIENT_REPORT_DIFF_H_
#define EK_CLIENT_REPORT_DIFF_H_

// What changed between two reports. Pure.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/report_diff.pb.h"

namespace edgekiln::client {

// Layers are matched by id, the n-th of an id with the n-th. `a_source` and
// `b_source` say in the result where the reports come from.
v1::ReportDiff DiffReports(const v1::Report& a, absl::string_view a_source,
                           const v1::Report& b, absl::string_view b_source);

// What `--json` printed: a Report, or a list of them. `json` is hostile. A
// usage error naming `source` for anything else.
absl::StatusOr<std::vector<v1::Report>> ParseReports(absl::string_view json,
                                                     absl::string_view source);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_REPORT_DIFF_H_
