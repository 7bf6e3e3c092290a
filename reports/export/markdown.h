#ifndef EK_REPORTS_EXPORT_MARKDOWN_H_
#define EK_REPORTS_EXPORT_MARKDOWN_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// A summary of reports for the text of a merge request: verdict, totals,
// broken limits, and the layers that cost most. Names are code spans, so that
// no mark-up, link or mention comes out of a model.
std::string ReportsToMarkdown(const std::vector<v1::Report>& reports);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_MARKDOWN_H_
