#ifndef EK_REPORTS_PAGE_HTML_PAGE_H_
#define EK_REPORTS_PAGE_HTML_PAGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "web/pages.h"

namespace edgekiln {

// The largest page: mail and merge requests take it.
inline constexpr int64_t kMaxPageBytes = int64_t{2} << 20;

// One HTML file that loads nothing: style, scripts and `data`, which is JSON,
// are inside, and its Content-Security-Policy allows only these. The title is
// any text. Errors: UNIMPLEMENTED with reason NO_PAGES without a `page`;
// INVALID_ARGUMENT with `fix`, reason PAGE_TOO_LARGE, if it would be larger
// than kMaxPageBytes.
absl::StatusOr<std::string> HtmlPage(const std::optional<web::Page>& page,
                                     absl::string_view title,
                                     absl::string_view data,
                                     absl::string_view fix);

}  // namespace edgekiln

#endif  // EK_REPORTS_PAGE_HTML_PAGE_H_
