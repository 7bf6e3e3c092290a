#include "client/commands/report.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/render/json.h"
#include "client/render/report_diff.h"
#include "client/report_diff.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kMaxReportBytes = int64_t{64} << 20;

absl::StatusOr<std::vector<v1::Report>> ReadReports(const std::string& path,
                                                    CommandContext& context) {
  const absl::StatusOr<std::string> json =
      context.files.Read(path, kMaxReportBytes);
  if (!json.ok()) {
    return UsageError(
        absl::StrCat("'", path, "' ",
                     absl::IsNotFound(json.status()) ? "does not exist"
                                                     : "cannot be read"),
        "report diff",
        absl::StrCat("a file of at most ", FormatBytes(kMaxReportBytes)),
        "check the path");
  }
  return ParseReports(*json, path);
}

absl::StatusOr<std::vector<v1::Report>> FetchReports(const std::string& id,
                                                     CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::Job job, context.connection.GetJob(id));
  std::vector<v1::Report> reports;
  for (int target = 0; target < job.reports(); ++target) {
    EK_ASSIGN_OR_RETURN(reports.emplace_back(),
                        context.connection.GetReport(id, target));
  }
  if (!reports.empty()) return reports;
  if (job.has_error()) return StatusFromDetail(job.error());
  return UsageError(absl::StrCat("job ", id, " has no report"), "report diff",
                    "a job that profiled, validated or compiled, and has ended",
                    absl::StrCat("see edgekiln jobs show ", id));
}

// The only report, or that of the target that was asked for.
absl::StatusOr<v1::Report> Choose(std::vector<v1::Report> reports,
                                  const std::string& source,
                                  const std::string& target) {
  std::vector<std::string> names;
  int found = -1;
  for (size_t i = 0; i < reports.size(); ++i) {
    names.push_back(reports[i].target_name());
    const bool fits = target.empty() || target == names.back();
    if (fits && found < 0) found = static_cast<int>(i);
  }
  if (found < 0 || (target.empty() && reports.size() > 1)) {
    return UsageError(
        absl::StrCat("'", source, "' has ",
                     found < 0 ? absl::StrCat("no report of ", target)
                               : absl::StrCat(reports.size(), " reports")),
        "report diff",
        absl::StrCat("one of the targets ", absl::StrJoin(names, ", ")),
        "name it with --target; once for both, or first that of A, then of B");
  }
  v1::Report& report = reports[static_cast<size_t>(found)];
  if (report.has_error()) return StatusFromDetail(report.error());
  return std::move(report);
}

absl::StatusOr<v1::Report> Load(size_t side, CommandContext& context) {
  const std::string& source = context.line.names[side];
  const std::vector<std::string>& targets = context.line.targets;
  std::string target;
  if (!targets.empty()) target = targets[side < targets.size() ? side : 0];
  absl::StatusOr<std::vector<v1::Report>> reports =
      NamesReportFile(context.files, source) ? ReadReports(source, context)
                                             : FetchReports(source, context);
  EK_RETURN_IF_ERROR(reports.status(), source);
  EK_ASSIGN_OR_RETURN(v1::Report report,
                      Choose(*std::move(reports), source, target), source);
  return report;
}

}  // namespace

bool NamesReportFile(FileSystem& files, const std::string& source) {
  return absl::StrContains(source, '/') || absl::EndsWith(source, ".json") ||
         files.Stat(source).ok();
}

absl::Status RunReportDiff(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_ASSIGN_OR_RETURN(const v1::Report a, Load(0, context));
  EK_ASSIGN_OR_RETURN(const v1::Report b, Load(1, context));
  const v1::ReportDiff diff = DiffReports(a, line.names[0], b, line.names[1]);
  context.progress.Clear();
  context.print(line.json ? ToJson(diff)
                          : RenderReportDiff(diff, context.style));
  if (!line.max_regression_percent.has_value()) return absl::OkStatus();
  return CheckRegression(diff, *line.max_regression_percent);
}

}  // namespace edgekiln::client
