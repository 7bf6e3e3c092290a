#include "client/commands/sweep.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/job_id.h"
#include "client/job_output.h"
#include "client/job_pages.h"
#include "client/job_request.h"
#include "client/render/live_sweep.h"
#include "client/render/sweep_rows_text.h"
#include "client/render/sweep_table.h"
#include "client/run_job.h"
#include "client/sweep_plan.h"
#include "client/sweep_request.h"
#include "client/sweep_rows.h"
#include "proto/convert.h"
#include "reports/text/json.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr char kStandardOutput[] = "-";
constexpr int64_t kDefaultListed = 20;
// Larger plans of the daemon are not believed.
constexpr int64_t kMaxPlanBytes = int64_t{256} << 20;

absl::Status NotASweep(const std::string& id) {
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "NOT_A_SWEEP",
                    .what = "the job is no sweep",
                    .where = absl::StrCat("job ", id),
                    .fix = "`edgekiln sweep list` shows the sweeps; for other "
                           "jobs use `edgekiln jobs`"});
}

// The newest one.
absl::StatusOr<std::string> LastSweep(CommandContext& context) {
  std::string id;
  EK_RETURN_IF_ERROR(VisitJobs(context.connection, [&](const v1::Job& job) {
                       if (!IsSweep(job)) return Visit::kNext;
                       id = job.id();
                       return Visit::kStop;
                     }).status());
  if (!id.empty()) return id;
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "NOT_A_SWEEP",
                    .what = "there is no sweep yet",
                    .fix = "`edgekiln sweep --help` shows how to start one"});
}

absl::StatusOr<v1::Job> FindSweep(JobUse use, CommandContext& context) {
  const std::string& name = context.line.names[0];
  std::string id;
  if (name == kLastJob && use == JobUse::kRead) {
    EK_ASSIGN_OR_RETURN(id, LastSweep(context));
  } else {
    EK_ASSIGN_OR_RETURN(id, ResolveJobId(name, use, context));
  }
  EK_ASSIGN_OR_RETURN(v1::Job job, context.connection.GetJob(id));
  if (!IsSweep(job)) return NotASweep(id);
  return job;
}

// Takes events; prints rows as they come where a program reads them.
class Listener {
 public:
  Listener(const v1::SweepRequest& request, CommandContext& context)
      : rows_(request),
        live_(rows_, context.line.sweep.memories),
        context_(context) {}
  ~Listener() { context_.progress.ShowAbove(nullptr); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Shows the newest rows as they come, where a person looks at both outputs.
  void ShowLive() {
    const bool person = !context_.line.json && context_.style.width() > 0 &&
                        context_.line.sweep.csv != kStandardOutput;
    if (!person) return;
    context_.progress.ShowAbove([this](int lines, const Style& style) {
      return live_.Lines(lines, style);
    });
  }

  void operator()(const v1::JobEvent& event) {
    const bool is_row = rows_.Apply(event);
    if (event.has_planned()) {
      for (const std::string& warning : event.planned().warnings()) {
        context_.progress.Say(absl::StrCat("warning: ", CleanText(warning)));
      }
    }
    if (!is_row || !PrintsJson()) return;
    context_.progress.Clear();
    context_.print(RowToJsonLine(rows_.rows().back()));
  }

  // What is shown once there are no more.
  absl::Status Finish() {
    context_.progress.ShowAbove(nullptr);
    const std::string& csv = context_.line.sweep.csv;
    if (csv == kStandardOutput) {
      context_.print_bytes(RowsToCsv(rows_));
      return absl::OkStatus();
    }
    if (context_.line.json) {
      context_.print(SummaryToJsonLine(rows_));
    } else if (rows_.planned().has_summary()) {
      context_.print(
          RenderSweep(rows_, context_.line.sweep.memories, context_.style));
    }
    if (csv.empty()) return absl::OkStatus();
    return WriteOutputFile(csv, RowsToCsv(rows_), context_);
  }

  const SweepRows& rows() const { return rows_; }

 private:
  bool PrintsJson() const {
    return context_.line.json && context_.line.sweep.csv != kStandardOutput;
  }

  SweepRows rows_;
  LiveSweep live_;  // Of `rows_`.
  CommandContext& context_;
};

absl::Status CheckCsv(const CommandContext& context) {
  const std::string& csv = context.line.sweep.csv;
  if (csv.empty() || csv == kStandardOutput) return absl::OkStatus();
  return CheckOutputFile(csv, "--csv");
}

absl::Status DryRun(const v1::SweepRequest& request, CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::SweepPlanned planned,
                      context.connection.PlanSweep(request));
  EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(planned.plan()));
  std::string bytes;
  EK_RETURN_IF_ERROR(context.connection.Download(
      digest, [&](absl::string_view piece) -> absl::Status {
        if (static_cast<int64_t>(bytes.size() + piece.size()) > kMaxPlanBytes) {
          return absl::InternalError("the plan of the daemon is too large");
        }
        bytes.append(piece.data(), piece.size());
        return absl::OkStatus();
      }));
  v1::SweepPlan plan;
  if (!plan.ParseFromString(bytes)) {
    return absl::InternalError("the plan of the daemon does not parse");
  }
  context.progress.Clear();
  Listener listener(request, context);
  v1::JobEvent event;
  *event.mutable_planned() = planned;
  listener(event);
  for (int cell = 0; cell < plan.cells_size(); ++cell) {
    *event.mutable_row() = RowOfPlan(request, plan, cell);
    listener(event);
  }
  return listener.Finish();
}

absl::Status Start(LocalSweep sweep, CommandContext& context) {
  EK_RETURN_IF_ERROR(CheckCsv(context));
  const SweepLine& line = context.line.sweep;
  EK_RETURN_IF_ERROR(UploadBlobs(sweep.blobs, context));
  if (line.dry_run) return DryRun(sweep.request, context);
  v1::CreateJobRequest request;
  request.set_request_id(NewRequestId());
  request.set_model_name(
      Count(sweep.request.groups(0).models_size(), "model", "models"));
  request.add_goals(v1::SWEEP);
  SetDeadlines(context.line, *request.mutable_options());
  *request.mutable_sweep() = std::move(sweep.request);
  if (line.detach) {
    EK_ASSIGN_OR_RETURN(const v1::Job job, StartJob(request, context));
    context.progress.Clear();
    context.print(
        context.line.json
            ? absl::StrCat("{\"sweep\": ", JsonString(job.id()), "}\n")
            : absl::StrCat(CleanText(job.id()), "\nedgekiln sweep watch ",
                           CleanText(job.id()), "\n"));
    return absl::OkStatus();
  }
  Listener listener(request.sweep(), context);
  listener.ShowLive();
  EK_ASSIGN_OR_RETURN(const v1::Job job,
                      RunJob(request, context, std::ref(listener)));
  EK_RETURN_IF_ERROR(JobError(job));
  EK_RETURN_IF_ERROR(listener.Finish());
  return listener.rows().Outcome();
}

std::string JobStateText(const v1::Job& job) {
  return absl::AsciiStrToLower(v1::JobState_Name(job.state()));
}

std::string CreatedText(const v1::Job& job) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                          absl::FromUnixSeconds(job.created().seconds()),
                          absl::LocalTimeZone());
}

std::string JobCellsText(const v1::Job& job) {
  return job.has_sweep() ? SweepSummaryText(job.sweep()) : "-";
}

}  // namespace

absl::Status RunSweep(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(LocalSweep sweep, SweepOfLine(context));
  return Start(std::move(sweep), context);
}

absl::Status RunSweepRun(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(LocalSweep sweep, SweepOfFile(context));
  return Start(std::move(sweep), context);
}

absl::Status RunSweepList(CommandContext& context) {
  const int64_t wanted = context.line.limit.value_or(kDefaultListed);
  v1::ListJobsResponse found;
  EK_RETURN_IF_ERROR(VisitJobs(context.connection, [&](const v1::Job& job) {
                       if (IsSweep(job)) *found.add_jobs() = job;
                       return found.jobs_size() < wanted ? Visit::kNext
                                                         : Visit::kStop;
                     }).status());
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(found));
    return absl::OkStatus();
  }
  Table table({{.title = "SWEEP", .whole = true},
               {.title = "STATE", .whole = true},
               {.title = "CREATED", .whole = true, .drop = 1},
               {.title = "CELLS"}});
  for (const v1::Job& job : found.jobs()) {
    // Lists do not tell how far those are that run.
    v1::Job shown = job;
    if (job.state() == v1::RUNNING) {
      absl::StatusOr<v1::Job> now = context.connection.GetJob(job.id());
      if (now.ok()) shown = *std::move(now);
    }
    table.AddRow({shown.id(), JobStateText(shown), CreatedText(shown),
                  JobCellsText(shown)});
  }
  context.print(found.jobs().empty() ? "no sweeps\n"
                                     : table.Render(context.style));
  return absl::OkStatus();
}

absl::Status RunSweepShow(CommandContext& context) {
  EK_RETURN_IF_ERROR(CheckCsv(context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, FindSweep(JobUse::kRead, context));
  Listener listener(job.request().sweep(), context);
  EK_RETURN_IF_ERROR(ReadLog(job, std::ref(listener), context));
  EK_RETURN_IF_ERROR(listener.Finish());
  if (job.state() == v1::FAILED || job.state() == v1::CANCELLED) {
    return JobError(job);
  }
  if (job.state() != v1::SUCCEEDED) return absl::OkStatus();
  return listener.rows().Outcome();
}

absl::Status RunSweepWatch(CommandContext& context) {
  EK_RETURN_IF_ERROR(CheckCsv(context));
  EK_ASSIGN_OR_RETURN(const v1::Job found, FindSweep(JobUse::kRead, context));
  Listener listener(found.request().sweep(), context);
  listener.ShowLive();
  EK_ASSIGN_OR_RETURN(const v1::Job job,
                      FollowJob(found.id(), context, std::ref(listener)));
  EK_RETURN_IF_ERROR(listener.Finish());
  EK_RETURN_IF_ERROR(JobError(job));
  return listener.rows().Outcome();
}

absl::Status RunSweepCancel(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::Job found, FindSweep(JobUse::kChange, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job,
                      context.connection.CancelJob(found.id()));
  context.progress.Clear();
  context.print(context.line.json
                    ? ToJson(job)
                    : absl::StrCat(CleanText(job.id()), "  ",
                                   IsFinal(job.state()) ? JobStateText(job)
                                                        : "cancelling",
                                   "\n"));
  return absl::OkStatus();
}

}  // namespace edgekiln::client
