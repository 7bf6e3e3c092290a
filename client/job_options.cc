#include "client/job_options.h"

#include "base/wrap_help.h"
#include "client/option_building.h"

namespace edgekiln::client {
namespace {

constexpr char kJobHelp[] =
    "A job: its id, the first characters of it (4 or more), or `last`, the "
    "newest one";

void AddJobFilter(CLI::App& app, RawOptions& raw) {
  app.add_option("--state", raw.job_states,
                 WrapHelp("queued, running, succeeded, failed, cancelled, or "
                          "active (queued or running); several separated by "
                          "commas"))
      ->type_name("STATE");
  app.add_option("--model", raw.line.job_filter.model,
                 WrapHelp("Jobs whose model has PART in its name"))
      ->type_name("PART");
  app.add_option("--target", raw.line.job_filter.target,
                 WrapHelp("Jobs that have a target with PART in its name"))
      ->type_name("PART");
  app.add_option("--since", raw.since,
                 WrapHelp("Jobs created no longer ago: 30m, 2h"))
      ->type_name("DURATION");
}

// One argument that holds reports.
void AddSource(CLI::App& app, RawOptions& raw) {
  app.add_option(
         "SOURCE", raw.a,
         WrapHelp("A job (its id, the first characters of it, or `last`), or "
                  "a file that --json wrote"))
      ->type_name("JOB|FILE")
      ->required();
}

void AddReportTarget(CLI::App& app, RawOptions& raw) {
  app.add_option("--target", raw.line.targets,
                 WrapHelp("Only the report on this target; may be given "
                          "several times. Without it all of them"))
      ->type_name("T")
      ->allow_extra_args(false);
}

}  // namespace

void AddJobCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = AddGroup(root, "jobs", "Running and finished jobs");
  CLI::App* app =
      AddCommand(*group, raw, Command::kJobsList, "list", "The newest jobs");
  AddLimit(*app, raw, "List at most N jobs (20)");
  AddJobFilter(*app, raw);
  app = AddCommand(*group, raw, Command::kJobsShow, "show",
                   "State, stages and reports of a job");
  AddNames(*app, raw, "ID", WrapHelp(kJobHelp));
  AddStages(*app, raw);
  app = AddCommand(*group, raw, Command::kJobsWatch, "watch",
                   "Follow a job to its end, then print its reports");
  AddNames(*app, raw, "ID", WrapHelp(kJobHelp));
  AddStages(*app, raw);
  AddFollow(*app, raw);
  app = AddCommand(*group, raw, Command::kJobsLog, "log",
                   "What happened to a job, line by line");
  AddNames(*app, raw, "ID", WrapHelp(kJobHelp));
  app->add_flag("--follow", raw.line.follow,
                WrapHelp("Go on until the job ends"));
  app = AddCommand(*group, raw, Command::kJobsCancel, "cancel", "Stop jobs");
  AddNames(*app, raw, "ID",
           WrapHelp("Jobs: ids, the first characters of ids (4 or more), or "
                    "`last`, the newest job; not with a server that others may "
                    "use"));
}

void AddQuarantineCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = AddGroup(root, "quarantine",
                             "Stages that failed repeatedly and are blocked");
  CLI::App* app = AddCommand(*group, raw, Command::kQuarantineList, "list",
                             "List the newest");
  AddLimit(*app, raw, "List at most N stages (20)");
  app = AddCommand(*group, raw, Command::kQuarantineRelease, "release",
                   "Allow these stages to run again");
  AddNames(*app, raw, "ID", "Stages, by their first digits");
}

void AddTopCommand(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddCommand(root, raw, Command::kTop, "top",
                             "Watch the daemon, its workers and jobs");
  app->add_option("--interval", raw.interval,
                  WrapHelp("Time between two looks, as 500ms or 5s (1s)"))
      ->type_name("TIME");
  app->add_flag(
      "--once", raw.line.once,
      WrapHelp(
          "Print once and exit; the default if the output is not a terminal"));
}

void AddReportCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = AddGroup(root, "report", "Reports of finished jobs");
  CLI::App* app = AddCommand(*group, raw, Command::kReportShow, "show",
                             "The reports of a job, as it printed them");
  AddSource(*app, raw);
  AddReportTarget(*app, raw);
  AddStages(*app, raw);

  app = AddCommand(*group, raw, Command::kReportDiff, "diff",
                   "Changes between two reports");
  app->add_option(
         "A", raw.a,
         WrapHelp("A job (its id, the first characters of it, or `last`), or "
                  "a file that --json wrote"))
      ->type_name("JOB|FILE")
      ->required();
  app->add_option("B", raw.b, "The same; what changed from A to B is shown")
      ->type_name("JOB|FILE")
      ->required();
  app->add_option("--target", raw.line.targets,
                  WrapHelp("The only target to compare; given twice: that of "
                           "A, then that of B. Without it every report of B is "
                           "compared with A's of the same target"))
      ->type_name("T")
      ->allow_extra_args(false);
  constexpr char kGroup[] = "Limits (exit code 3 if broken on any target)";
  app->add_option(
         "--max-regression", raw.max_regression,
         WrapHelp("Most growth allowed of cycles and of each memory: 2 or 2%"))
      ->type_name("PERCENT")
      ->group(kGroup);
  app->add_option("--max-accuracy-drop", raw.max_accuracy_drop,
                  WrapHelp("Most loss of accuracy allowed; from 96.7 % to 96.2 "
                           "% is 0.5. Also broken if a report has no accuracy"))
      ->type_name("POINTS")
      ->group(kGroup);

  app = AddCommand(*group, raw, Command::kReportBaseline, "baseline",
                   "A report to commit and to compare with later");
  AddSource(*app, raw);
  AddOutput(*app, raw, false, "OUT.json",
            "Where to put it; default, or -: standard output");

  app = AddCommand(*group, raw, Command::kReportHtml, "html",
                   "A page to look at: one file, without a network");
  app->add_option(
         "SOURCE", raw.line.names,
         WrapHelp("Jobs (ids, the first characters of them, or `last`), or "
                  "files that --json wrote. The others are compared with the "
                  "first one"))
      ->type_name("JOB|FILE")
      ->required();
  AddReportTarget(*app, raw);
  AddOutput(*app, raw, false, "OUT.html",
            "Where to put it; default, or -: standard output");

  app = AddCommand(*group, raw, Command::kReportExport, "export",
                   "A report as CSV, Markdown, HTML or for viewers");
  AddSource(*app, raw);
  app->add_option("--format", raw.export_format,
                  WrapHelp("csv, a line per layer; markdown, a summary; "
                           "perfetto, a trace; model-explorer, cycles over the "
                           "model's graph; json, as --json prints it; html, "
                           "the page of `report html`"))
      ->type_name("csv|markdown|perfetto|model-explorer|json|html")
      ->required();
  AddReportTarget(*app, raw);
  AddOutput(*app, raw, false, "FILE",
            "Where to put it; default, or -: standard output");
}

}  // namespace edgekiln::client
