#ifndef EK_REPORTS_PAGE_PAGE_H_
#define EK_REPORTS_PAGE_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reports/page/html_page.h"
#include "reports/page/page_data.h"

namespace edgekiln {

// Reports to look at, as one HTML file that loads nothing: data, style and
// scripts are inside, and its Content-Security-Policy allows only these. The
// same reports give the same bytes. The first report is the one that others are
// compared with. At least one report. Errors: those of HtmlPage().
absl::StatusOr<std::string> ReportPage(const std::vector<PageReport>& reports,
                                       absl::string_view fix);

}  // namespace edgekiln

#endif  // EK_REPORTS_PAGE_PAGE_H_
