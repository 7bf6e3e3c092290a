#include "client/commands/report_files.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/export/layers_csv.h"
#include "client/export/markdown.h"
#include "client/export/model_explorer.h"
#include "client/export/perfetto_trace.h"
#include "client/job_id.h"
#include "client/job_output.h"
#include "client/page/page.h"
#include "client/page/sweep_page.h"
#include "client/render/json.h"
#include "client/report_sources.h"
#include "client/run_job.h"
#include "client/sweep_rows.h"

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
    case ExportFormat::kModelExplorer:
      return ReportToModelExplorer(reports[0]);
    case ExportFormat::kPerfetto:
      return ReportsToPerfetto(reports);
    case ExportFormat::kJson:
      break;
  }
  return ReportsToJson(reports);
}

// The page of a sweep, if the only argument names one.
absl::StatusOr<std::optional<std::string>> PageOfSweep(
    CommandContext& context) {
  const CommandLine& line = context.line;
  if (line.names.size() > 1 || NamesReportFile(context.files, line.names[0])) {
    return std::nullopt;
  }
  EK_ASSIGN_OR_RETURN(const std::string id,
                      ResolveJobId(line.names[0], JobUse::kRead, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, context.connection.GetJob(id));
  if (!IsSweep(job)) return std::nullopt;
  if (!line.targets.empty()) {
    return UsageError("the page of a sweep shows all targets", "--target", "",
                      "leave --target out");
  }
  SweepRows rows(job.request().sweep());
  EK_RETURN_IF_ERROR(ReadLog(
      job, [&](const v1::JobEvent& event) { rows.Apply(event); }, context));
  EK_ASSIGN_OR_RETURN(std::string page, SweepPage(id, rows, {}));
  return page;
}

}  // namespace

absl::Status RunReportHtml(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_RETURN_IF_ERROR(CheckOutput(line));
  EK_ASSIGN_OR_RETURN(const std::optional<std::string> sweep,
                      PageOfSweep(context));
  if (sweep.has_value()) return WriteResult(*sweep, context);
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
  if (line.export_format == ExportFormat::kModelExplorer &&
      reports.size() > 1) {
    return UsageError(
        absl::StrCat("model-explorer takes one report, this job has ",
                     reports.size()),
        "--format", "", "name one of its targets with --target");
  }
  return WriteResult(Exported(reports, line.export_format), context);
}

}  // namespace edgekiln::client
