#ifndef EK_CLIENT_RENDER_REPORT_DIFF_H_
#define EK_CLIENT_RENDER_REPORT_DIFF_H_

// What changed between two reports, for people: caveats, totals, and the layers
// that changed, largest change first. More is red, less is green.

#include <string>

#include "edgekiln/v1/report_diff.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

std::string RenderReportDiff(const v1::ReportDiff& diff, const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_REPORT_DIFF_H_
