#ifndef EK_CLIENT_REPORT_SOURCES_H_
#define EK_CLIENT_REPORT_SOURCES_H_

// The reports that an argument of `edgekiln report` names: those of a job, or
// of a file that --json wrote.

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "client/command_context.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// Movable, not copyable: `by_target` points into `reports`.
struct ReportSource {
  explicit ReportSource(std::string name) : source(std::move(name)) {}
  ReportSource(ReportSource&&) = default;
  ReportSource& operator=(ReportSource&&) = default;

  std::string source;               // A path, or the whole id of a job.
  std::vector<v1::Report> reports;  // At least one.
  std::map<std::string, const v1::Report*> by_target;
};

// Whether an argument is a file and not a job: a path with '/', or ending in
// .json, or an existing file.
bool NamesReportFile(FileSystem& files, const std::string& source);

// Reads a file or asks the daemon. A usage error for a file or job without
// reports.
absl::StatusOr<ReportSource> LoadReportSource(const std::string& source,
                                              CommandContext& context);

// The report on `target`; a usage error with `fix` if there is none.
absl::StatusOr<const v1::Report*> FindReport(const ReportSource& source,
                                             const std::string& target,
                                             absl::string_view fix);

// Those on `targets`, in that order; all of them if no target is given.
absl::StatusOr<std::vector<v1::Report>> SelectReports(
    const ReportSource& source, const std::vector<std::string>& targets);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_REPORT_SOURCES_H_
