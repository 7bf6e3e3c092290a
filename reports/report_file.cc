#include "reports/report_file.h"

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "reports/export/layers_csv.h"
#include "reports/export/markdown.h"
#include "reports/export/model_explorer.h"
#include "reports/export/perfetto_trace.h"
#include "reports/page/page.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

constexpr size_t kMaxStemBytes = 80;

struct Kind {
  ReportFormat format;
  absl::string_view name;
  absl::string_view media_type;
  absl::string_view suffix;  // Of a file of that format.
};

constexpr Kind kKinds[] = {
    {ReportFormat::kJson, "json", "application/json", ".json"},
    {ReportFormat::kHtml, "html", "text/html; charset=utf-8", ".html"},
    {ReportFormat::kCsv, "csv", "text/csv; charset=utf-8", ".csv"},
    {ReportFormat::kMarkdown, "markdown", "text/markdown; charset=utf-8",
     ".md"},
    {ReportFormat::kPerfetto, "perfetto", "application/octet-stream",
     ".pftrace"},
    {ReportFormat::kModelExplorer, "model-explorer", "application/json",
     ".model-explorer.json"},
};

const Kind& KindOf(ReportFormat format) {
  for (const Kind& kind : kKinds) {
    if (kind.format == format) return kind;
  }
  return kKinds[0];
}

// Names come out of models: what a file system or a header might take for
// something else becomes a "-".
std::string Stem(const std::vector<PageReport>& reports) {
  const v1::Report& first = reports[0].report;
  absl::string_view model = first.model_name();
  model.remove_prefix(model.rfind('/') + 1);  // None: npos + 1 is 0.
  std::string stem =
      absl::StrCat(model.substr(0, model.rfind('.')), "-", first.target_name());
  if (reports.size() > 1) absl::StrAppend(&stem, "-and-", reports.size() - 1);
  std::string clean;
  for (const char c : stem) {
    const bool good = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                      c == '_' || (c == '.' && !clean.empty());
    if (good) {
      clean += c;
    } else if (!clean.empty() && clean.back() != '-') {
      clean += '-';
    }
    if (clean.size() == kMaxStemBytes) break;
  }
  while (!clean.empty() && clean.back() == '-') clean.pop_back();
  return clean.empty() ? "report" : clean;
}

std::string ReportsToJson(const std::vector<v1::Report>& reports) {
  if (reports.size() == 1) return ToJson(reports[0]);
  std::vector<const google::protobuf::Message*> messages;
  for (const v1::Report& report : reports) messages.push_back(&report);
  return ToJsonArray(messages);
}

absl::StatusOr<std::string> Content(const std::vector<PageReport>& named,
                                    ReportFormat format,
                                    absl::string_view fix) {
  if (format == ReportFormat::kHtml) return ReportPage(named, fix);
  if (format == ReportFormat::kModelExplorer && named.size() > 1) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "ONE_REPORT",
                      .what = "model-explorer takes one report",
                      .where = "format",
                      .limit = "1 report",
                      .need = absl::StrCat(named.size(), " reports"),
                      .fix = std::string(fix)});
  }
  std::vector<v1::Report> reports;
  reports.reserve(named.size());
  for (const PageReport& one : named) reports.push_back(one.report);
  switch (format) {
    case ReportFormat::kCsv:
      return LayersToCsv(reports);
    case ReportFormat::kMarkdown:
      return ReportsToMarkdown(reports);
    case ReportFormat::kModelExplorer:
      return ReportToModelExplorer(reports[0]);
    case ReportFormat::kPerfetto:
      return ReportsToPerfetto(reports);
    case ReportFormat::kHtml:
    case ReportFormat::kJson:
      break;
  }
  return ReportsToJson(reports);
}

}  // namespace

std::optional<ReportFormat> ReportFormatNamed(absl::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.format;
  }
  return std::nullopt;
}

std::string ReportFormatNames() {
  return absl::StrJoin(kKinds, ", ", [](std::string* out, const Kind& kind) {
    absl::StrAppend(out, kind.name);
  });
}

absl::StatusOr<ReportFile> MakeReportFile(
    const std::vector<PageReport>& reports, ReportFormat format,
    absl::string_view fix) {
  const Kind& kind = KindOf(format);
  ReportFile file;
  EK_ASSIGN_OR_RETURN(file.content, Content(reports, format, fix));
  file.media_type = std::string(kind.media_type);
  file.file_name = absl::StrCat(Stem(reports), kind.suffix);
  return file;
}

}  // namespace edgekiln
