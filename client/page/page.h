#ifndef EK_CLIENT_PAGE_PAGE_H_
#define EK_CLIENT_PAGE_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/page/html_page.h"
#include "client/page/page_data.h"

namespace edgekiln::client {

// Reports to look at, as one HTML file that loads nothing: data, style and
// scripts are inside, and its Content-Security-Policy allows only these. The
// same reports give the same bytes. The first report is the one that others are
// compared with. At least one report; a usage error if the page would be larger
// than kMaxPageBytes.
absl::StatusOr<std::string> ReportPage(const std::vector<PageReport>& reports);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PAGE_PAGE_H_
