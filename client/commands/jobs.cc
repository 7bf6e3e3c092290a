#include "client/commands/jobs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/commands/paging.h"
#include "client/error_detail.h"
#include "client/job_id.h"
#include "client/job_output.h"
#include "client/job_pages.h"
#include "client/render/comparison.h"
#include "client/render/error_block.h"
#include "client/render/event_line.h"
#include "client/render/progress.h"
#include "client/render/report.h"
#include "client/render/stages.h"
#include "client/run_job.h"
#include "reports/text/json.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

absl::Time ToTime(const google::protobuf::Timestamp& stamp) {
  return absl::FromUnixSeconds(stamp.seconds()) +
         absl::Nanoseconds(stamp.nanos());
}

std::string StateText(const v1::Job& job) {
  return absl::AsciiStrToLower(v1::JobState_Name(job.state()));
}

std::string GoalsText(const v1::Job& job) {
  std::vector<std::string> goals;
  for (const int goal : job.request().goals()) {
    goals.push_back(absl::AsciiStrToLower(
        v1::JobGoal_Name(static_cast<v1::JobGoal>(goal))));
  }
  return absl::StrJoin(goals, ",");
}

std::string TargetsText(const v1::Job& job) {
  std::vector<std::string> names;
  for (const v1::TargetRef& target : job.request().targets()) {
    names.push_back(target.name());
  }
  return names.empty() ? "-" : absl::StrJoin(names, ",");
}

// From start to end, or until now.
std::string SpentText(const v1::Job& job, absl::Time now) {
  if (!job.has_started()) return "-";
  const absl::Time end = job.has_finished() ? ToTime(job.finished()) : now;
  return FormatTimeSpan(
      std::max(end - ToTime(job.started()), absl::ZeroDuration()));
}

std::string CreatedText(const v1::Job& job) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(job.created()),
                          absl::LocalTimeZone());
}

std::string Summary(const v1::Job& job, absl::Time now, const Style& style) {
  Table table({{""}, {""}});
  table.AddRow({"job", job.id()});
  table.AddRow({"state", StateText(job)});
  if (job.has_waiting()) {
    ProgressModel model(absl::ZeroDuration());
    v1::JobEvent event;
    *event.mutable_waiting() = job.waiting();
    model.Apply(event, absl::ZeroDuration());
    table.AddRow({"", model.WaitingText()});
  }
  table.AddRow({"goal", GoalsText(job)});
  table.AddRow({"model", job.request().model_name()});
  table.AddRow({"targets", TargetsText(job)});
  table.AddRow({"created", CreatedText(job)});
  table.AddRow({"time", SpentText(job, now)});
  for (const v1::Artifact& artifact : job.artifacts()) {
    table.AddRow(
        {"file", absl::StrCat(artifact.path(), "  ",
                              FormatBytes(artifact.digest().size_bytes()))});
  }
  return table.Render(style);
}

std::string JobsTable(const v1::ListJobsResponse& all,
                      const CommandContext& context) {
  Table table({{.title = "JOB", .whole = true},
               {.title = "STATE", .whole = true},
               {.title = "GOAL", .drop = 3},
               {.title = "MODEL"},
               {.title = "TARGETS", .drop = 1},
               {.title = "CREATED", .whole = true, .drop = 4},
               {.title = "TIME", .align = Align::kRight, .drop = 2}});
  for (const v1::Job& job : all.jobs()) {
    table.AddRow({job.id(), StateText(job), GoalsText(job),
                  ClipMiddle(CleanText(job.request().model_name()), 32),
                  ClipMiddle(CleanText(TargetsText(job)), 40), CreatedText(job),
                  SpentText(job, context.clock.Now())});
  }
  return table.Render(context.style);
}

// The newest jobs that the filter fits, as many as --limit says.
absl::StatusOr<Visited> FindJobs(CommandContext& context,
                                 v1::ListJobsResponse& found) {
  const JobFilter& filter = context.line.job_filter;
  const int64_t wanted = context.line.limit.value_or(kDefaultListed);
  const absl::Time now = context.clock.Now();
  return VisitJobs(context.connection, [&](const v1::Job& job) {
    if (IsTooOld(filter, job, now)) return Visit::kStop;
    if (Matches(filter, job, now)) *found.add_jobs() = job;
    return found.jobs_size() < wanted ? Visit::kNext : Visit::kStop;
  });
}

}  // namespace

absl::Status RunJobsList(CommandContext& context) {
  const JobFilter& filter = context.line.job_filter;
  Visited visited = Visited::kAll;
  v1::ListJobsResponse all;
  if (filter.empty()) {
    EK_ASSIGN_OR_RETURN(all, ListPages(context, &Connection::ListJobs,
                                       &v1::ListJobsResponse::mutable_jobs));
  } else {
    EK_ASSIGN_OR_RETURN(visited, FindJobs(context, all));
  }
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(all));
    return absl::OkStatus();
  }
  if (all.jobs().empty() && !filter.empty()) {
    context.print("no such job\n");
  } else {
    context.print(JobsTable(all, context));
  }
  if (visited == Visited::kCutOff) {
    context.print(absl::StrCat("only the newest ", GroupDigits(kMaxVisitedJobs),
                               " jobs were searched\n"));
  }
  return absl::OkStatus();
}

absl::Status RunJobsShow(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(
      const std::string id,
      ResolveJobId(context.line.names[0], JobUse::kRead, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, context.connection.GetJob(id));
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(job));
    return absl::OkStatus();
  }
  std::string out = Summary(job, context.clock.Now(), context.style);
  std::vector<v1::Report> reports;
  for (int target = 0; target < job.reports(); ++target) {
    absl::StatusOr<v1::Report> report =
        context.connection.GetReport(job.id(), target);
    if (!report.ok()) continue;  // Not there yet, or failed: see the state.
    reports.push_back(*std::move(report));
  }
  if (reports.size() == 1) {
    absl::StrAppend(&out, "\n", RenderReport(reports[0], context.style));
  } else if (!reports.empty()) {
    absl::StrAppend(&out, "\n", RenderComparison(reports, context.style));
  }
  if ((context.line.stages || job.reports() == 0) && job.stages_size() > 0) {
    absl::StrAppend(&out, "\n", RenderStages(job.stages(), context.style));
  }
  if (job.has_error()) {
    absl::StrAppend(&out, "\n",
                    RenderError(WithServer(job.error(), context.line.server),
                                context.style));
  }
  context.print(out);
  return absl::OkStatus();
}

absl::Status RunJobsWatch(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(
      const std::string id,
      ResolveJobId(context.line.names[0], JobUse::kRead, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, FollowJob(id, context));
  return PrintReports(job, context);
}

absl::Status RunJobsLog(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(
      const std::string id,
      ResolveJobId(context.line.names[0], JobUse::kRead, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, context.connection.GetJob(id));
  return ReadLog(
      job,
      [&](const v1::JobEvent& event) {
        context.print(context.line.json
                          ? ToJsonLine(event)
                          : EventLine(event, job.request(),
                                      absl::LocalTimeZone(), context.style));
      },
      context);
}

absl::Status RunJobsCancel(CommandContext& context) {
  // All names first: a mistyped one cancels nothing.
  std::vector<std::string> ids;
  for (const std::string& name : context.line.names) {
    EK_ASSIGN_OR_RETURN(ids.emplace_back(),
                        ResolveJobId(name, JobUse::kChange, context));
  }
  v1::ListJobsResponse cancelled;
  for (const std::string& id : ids) {
    EK_ASSIGN_OR_RETURN(*cancelled.add_jobs(), context.connection.CancelJob(id),
                        absl::StrCat("job ", id));
  }
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(cancelled));
    return absl::OkStatus();
  }
  for (const v1::Job& job : cancelled.jobs()) {
    // Its processes are still being stopped.
    const std::string state =
        IsFinal(job.state()) ? StateText(job) : "cancelling";
    context.print(absl::StrCat(CleanText(job.id()), "  ", state, "\n"));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
