#include "client/page/page.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/render/text.h"

namespace edgekiln::client {
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

absl::StatusOr<std::string> ReportPage(const std::vector<PageReport>& reports) {
  return HtmlPage(
      WebPage::kReport, TitleOf(reports), PageData(reports),
      reports.size() > 1
          ? "give fewer reports, or some of their targets with --target"
          : "use `edgekiln report export`, which has no such limit");
}

}  // namespace edgekiln::client
