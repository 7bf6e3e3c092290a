#include "client/report_sources.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/job_id.h"
#include "client/parse_reports.h"
#include "client/unreadable_file.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kMaxReportBytes = int64_t{64} << 20;

absl::StatusOr<std::vector<v1::Report>> ReadReports(const std::string& path,
                                                    CommandContext& context) {
  const absl::StatusOr<std::string> json =
      context.files.Read(path, kMaxReportBytes);
  if (!json.ok()) return UnreadableError(path, path, json.status());
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
  if (job.has_error()) return StatusFromProto(job.error());
  return UsageError(absl::StrCat("job ", id, " has no report"), id,
                    "a job that profiled, validated or compiled, and has ended",
                    absl::StrCat("see edgekiln jobs show ", id));
}

}  // namespace

bool NamesReportFile(FileSystem& files, const std::string& source) {
  return absl::StrContains(source, '/') || absl::EndsWith(source, ".json") ||
         files.Stat(source).ok();
}

absl::StatusOr<ReportSource> LoadReportSource(const std::string& source,
                                              CommandContext& context) {
  ReportSource loaded(source);
  if (NamesReportFile(context.files, source)) {
    EK_ASSIGN_OR_RETURN(loaded.reports, ReadReports(source, context), source);
  } else {
    EK_ASSIGN_OR_RETURN(loaded.source,
                        ResolveJobId(source, JobUse::kRead, context));
    EK_ASSIGN_OR_RETURN(loaded.reports, FetchReports(loaded.source, context),
                        loaded.source);
  }
  for (const v1::Report& report : loaded.reports) {
    loaded.by_target.emplace(report.target_name(), &report);
  }
  return loaded;
}

absl::StatusOr<const v1::Report*> FindReport(const ReportSource& source,
                                             const std::string& target,
                                             absl::string_view fix) {
  const auto found = source.by_target.find(target);
  if (found != source.by_target.end()) return found->second;
  return UsageError(
      absl::StrCat("'", source.source, "' has no report of ", target),
      source.source,
      absl::StrCat("one of the targets ",
                   absl::StrJoin(source.by_target, ", ",
                                 [](std::string* out, const auto& entry) {
                                   absl::StrAppend(out, entry.first);
                                 })),
      fix);
}

absl::StatusOr<std::vector<v1::Report>> SelectReports(
    const ReportSource& source, const std::vector<std::string>& targets) {
  if (targets.empty()) return source.reports;
  std::vector<v1::Report> selected;
  for (const std::string& target : targets) {
    EK_ASSIGN_OR_RETURN(const v1::Report* report,
                        FindReport(source, target, "name one of them"));
    selected.push_back(*report);
  }
  return selected;
}

}  // namespace edgekiln::client
