#include "client/commands/report_files.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/export/layers_csv.h"
#include "client/export/markdown.h"
#include "client/export/perfetto_trace.h"
#include "client/job_output.h"
#include "client/page/page.h"
#include "client/render/json.h"
#include "client/report_sources.h"

namespace edgekiln::client {
namespace {

absl::Status CheckOutput(const CommandLine& line) {
  if (line.output.empty()) return absl::OkStatus();
  EK_RETURN_IF_ERROR(CheckOutputFile(line.output));
  return CheckKeepsInputs(line);
}

// To -o, or the standard output. With --json nothing else is printed.
absl::Status WriteResult(const std::string& bytes, CommandContext& context) {
  const std::string& output = context.line.output;
  context.progress.Clear();
  if (output.empty()) {
    context.print(bytes);
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(WriteOutputFile(output, bytes, context));
  if (!context.line.json) {
    context.print(absl::StrCat("wrote ", CleanText(output), "  ",
                               FormatBytes(static_cast<int64_t>(bytes.size())),
                               "\n"));
  }
  return absl::OkStatus();
}

std::string ReportsToJson(const std::vector<v1::Report>& reports) {
  if (reports.size() == 1) return ToJson(reports[0]);
  std::vector<const google::protobuf::Message*> messages;
  for (const v1::Report& report : reports) messages.push_back(&report);
  return ToJsonArray(messages);
}

std::string Exported(const std::vector<v1::Report>& reports,
                     ExportFormat format) {
  switch (format) {
    case ExportFormat::kCsv:
      return LayersToCsv(reports);
    case ExportFormat::kMarkdown:
      return ReportsToMarkdown(reports);
    case ExportFormat::kPerfetto:
      return ReportsToPerfetto(reports);
    case ExportFormat::kJson:
      break;
  }
  return ReportsToJson(reports);
}

}  // namespace

absl::Status RunReportHtml(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_RETURN_IF_ERROR(CheckOutput(line));
  std::vector<PageReport> shown;
  for (const std::string& name : line.names) {
    EK_ASSIGN_OR_RETURN(const ReportSource source,
                        LoadReportSource(name, context));
    EK_ASSIGN_OR_RETURN(const std::vector<v1::Report> reports,
                        SelectReports(source, line.targets));
    for (const v1::Report& report : reports) {
      shown.push_back({.source = CleanText(source.source), .report = report});
    }
  }
  EK_ASSIGN_OR_RETURN(const std::string page, ReportPage(shown));
  return WriteResult(page, context);
}

absl::Status RunReportExport(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_RETURN_IF_ERROR(CheckOutput(line));
  EK_ASSIGN_OR_RETURN(const ReportSource source,
                      LoadReportSource(line.names[0], context));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Report> reports,
                      SelectReports(source, line.targets));
  return WriteResult(Exported(reports, line.export_format), context);
}

}  // namespace edgekiln::client
