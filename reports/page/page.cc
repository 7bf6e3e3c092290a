#include "reports/page/page.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "reports/text/text.h"
#include "web/pages.h"

namespace edgekiln {
namespace {

std::string TitleOf(const std::vector<PageReport>& reports) {
  const v1::Report& first = reports.front().report;
  std::string title = CleanText(first.model_name());
  if (title.empty()) title = "model";
  if (!first.target_name().empty()) {
    absl::StrAppend(&title, " on ", CleanText(first.target_name()));
  }
  const auto more = static_cast<int64_t>(reports.size()) - 1;
  if (more > 0) {
    absl::StrAppend(&title, " and ",
                    Count(more, "other report", "other reports"));
  }
  return title;
}

}  // namespace

absl::StatusOr<std::string> ReportPage(const std::vector<PageReport>& reports,
                                       absl::string_view fix) {
  return HtmlPage(web::ReportPage(), TitleOf(reports), PageData(reports), fix);
}

}  // namespace edgekiln
