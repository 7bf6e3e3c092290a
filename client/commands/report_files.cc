#include "client/commands/report_files.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/job_id.h"
#include "client/job_output.h"
#include "client/report_sources.h"
#include "client/run_job.h"
#include "client/sweep_page.h"
#include "client/sweep_rows.h"
#include "reports/report_file.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

absl::Status CheckOutput(const CommandLine& line) {
  if (IsStandardOutput(line.output)) return absl::OkStatus();
  EK_RETURN_IF_ERROR(CheckOutputFile(line.output));
  return CheckKeepsInputs(line);
}

// To -o, or the standard output. With --json nothing else is printed.
absl::Status WriteResult(const std::string& bytes, CommandContext& context) {
  const std::string& output = context.line.output;
  context.progress.Clear();
  if (IsStandardOutput(output)) {
    context.print_bytes(bytes);
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

constexpr char kFewer[] =
    "give fewer reports, or some of their targets with --target";
constexpr char kOtherFormat[] =
    "use `edgekiln report export --format csv` or json, which have no such "
    "limit";

absl::Status WriteReports(const std::vector<PageReport>& reports,
                          ReportFormat format, CommandContext& context) {
  EK_ASSIGN_OR_RETURN(
      const ReportFile file,
      MakeReportFile(reports, format,
                     reports.size() > 1 ? kFewer : kOtherFormat));
  return WriteResult(file.content, context);
}

absl::Status AddReports(const std::string& name, CommandContext& context,
                        std::vector<PageReport>& reports) {
  EK_ASSIGN_OR_RETURN(const ReportSource source,
                      LoadReportSource(name, context));
  EK_ASSIGN_OR_RETURN(std::vector<v1::Report> selected,
                      SelectReports(source, context.line.targets));
  for (v1::Report& report : selected) {
    reports.push_back(
        {.source = CleanText(source.source), .report = std::move(report)});
  }
  return absl::OkStatus();
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
    EK_RETURN_IF_ERROR(AddReports(name, context, shown));
  }
  return WriteReports(shown, ReportFormat::kHtml, context);
}

absl::Status RunReportExport(CommandContext& context) {
  EK_RETURN_IF_ERROR(CheckOutput(context.line));
  std::vector<PageReport> reports;
  EK_RETURN_IF_ERROR(AddReports(context.line.names[0], context, reports));
  return WriteReports(reports, context.line.export_format, context);
}

}  // namespace edgekiln::client
