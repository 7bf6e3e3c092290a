#ifndef EK_REPORTS_REPORT_FILE_H_
#define EK_REPORTS_REPORT_FILE_H_

// Reports as a file of one of the formats in docs/reports.md.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reports/page/page_data.h"

namespace edgekiln {

enum class ReportFormat {
  kJson,
  kHtml,
  kCsv,
  kMarkdown,
  kPerfetto,
  kModelExplorer,
};

// "json", "html", "csv", "markdown", "perfetto" or "model-explorer".
std::optional<ReportFormat> ReportFormatNamed(absl::string_view name);
// All of them, for a sentence.
std::string ReportFormatNames();

struct ReportFile {
  std::string content;
  std::string media_type;  // "text/html; charset=utf-8"
  std::string file_name;   // "digits-dla-64.html": letters, digits, - _ and .
};

// At least one report. The same reports give the same bytes. Errors:
// INVALID_ARGUMENT: a page larger than kMaxPageBytes (reason PAGE_TOO_LARGE), a
// format that takes one report (reason ONE_REPORT), both with that `fix`;
// UNIMPLEMENTED: a page in a build without pages (reason NO_PAGES).
absl::StatusOr<ReportFile> MakeReportFile(
    const std::vector<PageReport>& reports, ReportFormat format,
    absl::string_view fix);

}  // namespace edgekiln

#endif  // EK_REPORTS_REPORT_FILE_H_
