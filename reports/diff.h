#ifndef EK_REPORTS_DIFF_H_
#define EK_REPORTS_DIFF_H_

// What changed between two reports. Pure.

#include "absl/strings/string_view.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/report_diff.pb.h"

namespace edgekiln {

// Layers are matched by id, the n-th of an id with the n-th. `a_source` and
// `b_source` say in the result where the reports come from.
v1::ReportDiff DiffReports(const v1::Report& a, absl::string_view a_source,
                           const v1::Report& b, absl::string_view b_source);

}  // namespace edgekiln

#endif  // EK_REPORTS_DIFF_H_
