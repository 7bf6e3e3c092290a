#include "client/commands/report.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/baseline.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/job_output.h"
#include "client/regression.h"
#include "client/render/report_diff.h"
#include "client/report_sources.h"
#include "proto/convert.h"
#include "reports/diff.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

// The report of a target, or, for an empty name, the first.
absl::StatusOr<const v1::Report*> Choose(const ReportSource& side,
                                         const std::string& target) {
  const v1::Report* report = &side.reports.front();
  if (!target.empty()) {
    EK_ASSIGN_OR_RETURN(report, FindReport(side, target,
                                           "name it with --target; once for "
                                           "both, or first that of A, then of "
                                           "B"));
  }
  if (report->has_error()) {
    return Annotate(StatusFromProto(report->error()), side.source);
  }
  return report;
}

struct Pair {
  const v1::Report* a = nullptr;
  const v1::Report* b = nullptr;
};

absl::Status AddPair(const ReportSource& a, const std::string& a_target,
                     const ReportSource& b, const std::string& b_target,
                     std::vector<Pair>& pairs) {
  Pair pair;
  EK_ASSIGN_OR_RETURN(pair.a, Choose(a, a_target));
  EK_ASSIGN_OR_RETURN(pair.b, Choose(b, b_target));
  pairs.push_back(pair);
  return absl::OkStatus();
}

// Which report is compared with which: what --target says; else the only one
// with the only one; else each of B with A's of the same target.
absl::StatusOr<std::vector<Pair>> Match(const ReportSource& a,
                                        const ReportSource& b,
                                        const std::vector<std::string>& names) {
  std::vector<Pair> pairs;
  if (!names.empty()) {
    EK_RETURN_IF_ERROR(AddPair(a, names.front(), b, names.back(), pairs));
  } else if (a.reports.size() == 1 && b.reports.size() == 1) {
    EK_RETURN_IF_ERROR(AddPair(a, "", b, "", pairs));
  } else {
    for (const v1::Report& report : b.reports) {
      const std::string& target = report.target_name();
      EK_RETURN_IF_ERROR(AddPair(a, target, b, target, pairs));
    }
  }
  return pairs;
}

// "only in A: dla-64"; empty if all of A's targets were compared, or one was
// asked for.
std::string LeftOut(const ReportSource& a, const std::vector<Pair>& pairs,
                    const std::vector<std::string>& names) {
  if (!names.empty()) return "";
  std::set<const v1::Report*> compared;
  for (const Pair& pair : pairs) compared.insert(pair.a);
  std::vector<std::string> left;
  for (const v1::Report& report : a.reports) {
    if (compared.contains(&report)) continue;
    left.push_back(CleanText(report.target_name()));
  }
  if (left.empty()) return "";
  return absl::StrCat("\nonly in A, not compared: ", absl::StrJoin(left, ", "),
                      "\n");
}

void PrintDiffs(const std::vector<v1::ReportDiff>& diffs,
                const std::string& left_out, CommandContext& context) {
  context.progress.Clear();
  if (context.line.json) {
    std::vector<const google::protobuf::Message*> messages;
    for (const v1::ReportDiff& diff : diffs) messages.push_back(&diff);
    context.print(diffs.size() == 1 ? ToJson(diffs[0]) : ToJsonArray(messages));
    return;
  }
  std::string out;
  for (const v1::ReportDiff& diff : diffs) {
    if (!out.empty()) out += "\n";
    out += RenderReportDiff(diff, context.style);
  }
  context.print(out + left_out);
}

}  // namespace

absl::Status RunReportShow(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const ReportSource side,
                      LoadReportSource(context.line.names[0], context));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Report> shown,
                      SelectReports(side, context.line.targets));
  PrintReportList(shown, context);
  for (const v1::Report& report : shown) {
    if (!report.has_error()) continue;
    return Annotate(StatusFromProto(report.error()), side.source);
  }
  return absl::OkStatus();
}

absl::Status RunReportDiff(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_ASSIGN_OR_RETURN(const ReportSource a,
                      LoadReportSource(line.names[0], context));
  EK_ASSIGN_OR_RETURN(const ReportSource b,
                      LoadReportSource(line.names[1], context));
  EK_ASSIGN_OR_RETURN(const std::vector<Pair> pairs, Match(a, b, line.targets));
  std::vector<v1::ReportDiff> diffs;
  diffs.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    diffs.push_back(DiffReports(*pair.a, a.source, *pair.b, b.source));
  }
  PrintDiffs(diffs, LeftOut(a, pairs, line.targets), context);
  return CheckRegression(diffs, line.regression);
}

absl::Status RunReportBaseline(CommandContext& context) {
  const std::string& output = context.line.output;
  if (!IsStandardOutput(output)) EK_RETURN_IF_ERROR(CheckOutputFile(output));
  EK_ASSIGN_OR_RETURN(ReportSource side,
                      LoadReportSource(context.line.names[0], context));
  for (const v1::Report& report : side.reports) {
    if (!report.has_error()) continue;
    return Annotate(StatusFromProto(report.error()), side.source);
  }
  const std::string json = BaselineJson(std::move(side.reports));
  context.progress.Clear();
  if (IsStandardOutput(output)) {
    context.print_bytes(json);
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(WriteOutputFile(output, json, context));
  if (!context.line.json) {
    context.print(absl::StrCat("wrote ", CleanText(output), "  ",
                               FormatBytes(static_cast<int64_t>(json.size())),
                               "\n"));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
