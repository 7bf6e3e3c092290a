#include "client/check/run_project.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/baseline.h"
#include "client/check/baselines.h"
#include "client/check/cell_names.h"
#include "client/check/describe.h"
#include "client/check/judge.h"
#include "client/check/project_checks.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/job_request.h"
#include "client/render/live_sweep.h"
#include "client/run_job.h"
#include "client/sweep_request.h"
#include "client/sweep_rows.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// Takes the events of the sweep; shows its newest rows where a person looks.
class Listener {
 public:
  Listener(SweepRows& rows, v1::CheckResult& result, CommandContext& context)
      : rows_(rows), live_(rows, {}), result_(result), context_(context) {
    if (context_.line.json || context_.style.width() == 0) return;
    context_.progress.ShowAbove([this](int lines, const Style& style) {
      return live_.Lines(lines, style);
    });
  }
  ~Listener() { context_.progress.ShowAbove(nullptr); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void operator()(const v1::JobEvent& event) {
    rows_.Apply(event);
    if (!event.has_planned()) return;
    for (const std::string& warning : event.planned().warnings()) {
      v1::CheckNote& note = *result_.add_notes();
      note.set_rule(kPlanRule);
      note.set_message(CleanText(warning));
      note.mutable_place()->set_file(result_.file());
    }
  }

 private:
  SweepRows& rows_;
  LiveSweep live_;  // Of `rows_`.
  v1::CheckResult& result_;
  CommandContext& context_;
};

absl::Status Sweep(ProjectFile& project, CommandContext& context,
                   SweepRows& rows, v1::CheckResult& result) {
  EK_RETURN_IF_ERROR(CheckProjectFiles(project, context.files));
  EK_RETURN_IF_ERROR(context.reachable);
  EK_ASSIGN_OR_RETURN(
      LocalSweep sweep,
      OpenSweep(SweepOfProject(project.project()), project.Folder(), context));
  project.NameModels(sweep.request);
  EK_RETURN_IF_ERROR(UploadBlobs(sweep.blobs, context));
  v1::CreateJobRequest request;
  request.set_request_id(NewRequestId());
  request.set_model_name(
      Count(sweep.request.groups(0).models_size(), "model", "models"));
  request.add_goals(v1::SWEEP);
  *request.mutable_sweep() = std::move(sweep.request);
  Listener listener(rows, result, context);
  EK_ASSIGN_OR_RETURN(const v1::Job job,
                      RunJob(request, context, std::ref(listener)));
  result.set_sweep(job.id());
  return JobError(job);
}

// Judges the cells of rows.
class Judge {
 public:
  Judge(const ProjectFile& project, CommandContext& context,
        v1::CheckResult& result)
      : project_(project),
        context_(context),
        result_(result),
        baselines_(project, context.files) {}

  // After a sweep that failed the service may be gone: once it gave no report,
  // it is not asked for others.
  void SweepFailed() { sweep_failed_ = true; }

  // `update`: reports become baselines.
  absl::Status All(const std::vector<v1::SweepRow>& rows, bool update) {
    std::map<int, const v1::SweepRow*> by_cell;
    for (const v1::SweepRow& row : rows) by_cell[row.cell()] = &row;
    const std::vector<CellNames> names = NameCells(rows, project_.project());
    for (size_t i = 0; i < rows.size(); ++i) {
      const v1::SweepRow* outcome = &rows[i];
      if (outcome->state() == v1::SweepRow::MERGED) {
        const auto first = by_cell.find(outcome->same_as());
        outcome = first == by_cell.end() ? nullptr : first->second;
      }
      EK_RETURN_IF_ERROR(One(rows[i], outcome, names[i], update));
    }
    return absl::OkStatus();
  }

  // After All(). Writes baselines, or says what is amiss with them.
  absl::Status Baseline(bool update) {
    if (update) {
      EK_ASSIGN_OR_RETURN(const Baselines::Changes changes,
                          baselines_.Update(new_baselines_, files_));
      for (const std::string& path : changes.written) result_.add_written(path);
      for (const std::string& path : changes.removed) result_.add_removed(path);
      return absl::OkStatus();
    }
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> stale,
                        baselines_.Stale(files_));
    for (const std::string& name : stale) {
      AddNote(kStaleRule,
              absl::StrCat("the baseline ", baselines_.PathOf(name),
                           " is of a cell that the project does not have any "
                           "more: --update-baselines removes it"),
              baselines_.PathOf(name));
    }
    NoteMissing();
    return absl::OkStatus();
  }

 private:
  absl::Status One(const v1::SweepRow& row, const v1::SweepRow* outcome,
                   const CellNames& names, bool update) {
    files_.insert(names.file);
    CellInput input{.row = &row,
                    .outcome = outcome,
                    .names = names,
                    .baseline_path = baselines_.PathOf(names.file)};
    v1::Report whole;
    v1::SweepRow failed;
    if (outcome != nullptr && outcome->state() == v1::SweepRow::DONE) {
      EK_ASSIGN_OR_RETURN(input.baseline, baselines_.Read(names.file));
      // What differs from the reference is not a baseline.
      input.update = update && outcome->report().bit_exact().mismatches() == 0;
      if (NeedsWhole(project_, input)) {
        absl::StatusOr<v1::Report> report = WholeReport(outcome->job());
        if (report.ok()) {
          whole = *std::move(report);
          input.whole = &whole;
        } else if (sweep_failed_) {
          failed = WithoutReport(*outcome, report.status());
          input.outcome = &failed;
        } else {
          return Annotate(report.status(),
                          absl::StrCat("the report of ", names.name));
        }
      }
    }
    if (input.update) new_baselines_[names.file] = BaselineJson({whole});
    *result_.add_cells() = JudgeCell(project_, input);
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Report> WholeReport(const std::string& job) {
    if (!no_report_.ok()) return no_report_;
    absl::StatusOr<v1::Report> report = context_.connection.GetReport(job, 0);
    if (!report.ok() && sweep_failed_) no_report_ = report.status();
    return report;
  }

  // A cell that ran, but nothing can be said of it: a fault of the service.
  static v1::SweepRow WithoutReport(const v1::SweepRow& outcome,
                                    const absl::Status& why) {
    v1::SweepRow row = outcome;
    row.set_state(v1::SweepRow::CANCELLED);
    row.clear_report();
    *row.mutable_error() = DetailFromStatus(why);
    return row;
  }

  void AddNote(const char* rule, std::string message, std::string file) {
    v1::CheckNote& note = *result_.add_notes();
    note.set_rule(rule);
    note.set_message(std::move(message));
    note.mutable_place()->set_file(std::move(file));
  }

  void NoteMissing() {
    int missing = 0;
    bool unlimited = false;
    for (const v1::CheckCell& cell : result_.cells()) {
      const v1::CheckBaseline& baseline = cell.baseline();
      missing += baseline.state() == v1::CheckBaseline::MISSING ? 1 : 0;
      unlimited |= baseline.state() == v1::CheckBaseline::CHANGED &&
                   !project_.LimitsRegression();
    }
    if (missing > 0) {
      AddNote(kMissingRule,
              absl::StrCat(Count(missing, "cell has", "cells have"),
                           " no baseline: `edgekiln check --update-baselines` "
                           "writes them to the folder ",
                           CleanText(baselines_.folder()),
                           "; then commit the files"),
              result_.file());
    }
    if (unlimited) {
      AddNote(kUnlimitedRule,
              "reports differ from their baselines, and no `regression` of the "
              "project limits that: for example regression { "
              "max_cycles_growth: 2 }",
              result_.file());
    }
  }

  const ProjectFile& project_;
  CommandContext& context_;
  v1::CheckResult& result_;
  Baselines baselines_;
  bool sweep_failed_ = false;
  absl::Status no_report_;       // Why the service gave none.
  std::set<std::string> files_;  // Of the baselines of all cells.
  std::map<std::string, std::string> new_baselines_;
};

// GATE_FAILED if any cell has a finding.
absl::Status FindingsStatus(const v1::CheckResult& result) {
  std::vector<std::string> lines;
  int broken = 0;
  const v1::CheckCell* first = nullptr;
  for (const v1::CheckCell& cell : result.cells()) {
    if (cell.findings().empty()) continue;
    if (first == nullptr) first = &cell;
    ++broken;
    for (const v1::CheckFinding& finding : cell.findings()) {
      lines.push_back(
          absl::StrCat(CleanText(cell.name()), ": ", finding.message()));
    }
  }
  if (first == nullptr) return absl::OkStatus();
  ErrorDetail detail{.fault = Fault::kUser, .reason = kReasonGate};
  if (lines.size() == 1) {
    const v1::CheckFinding& finding = first->findings(0);
    detail.what = lines[0];
    detail.where = PlaceText(finding.place());
    detail.fix = finding.fix();
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  detail.what =
      absl::StrCat(broken, " of ", Count(result.cells_size(), "cell", "cells"),
                   broken == 1 ? " is broken" : " are broken");
  detail.where = result.file();
  detail.fix =
      "if the changes are wanted, raise the budgets or write new baselines: "
      "edgekiln check --update-baselines";
  return WithLines(
      MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail)),
      lines);
}

}  // namespace

absl::Status RunProject(ProjectFile& project, CommandContext& context,
                        v1::CheckResult& result) {
  SweepRows rows(SweepOfProject(project.project()));
  const absl::Status swept = Sweep(project, context, rows, result);
  if (ExitCodeFor(swept) == ExitCode::kInterrupted) return swept;
  const bool update = context.line.check.update_baselines && swept.ok();
  Judge judge(project, context, result);
  if (!swept.ok()) judge.SweepFailed();
  absl::Status status = judge.All(rows.InOrder(), update);
  // What was cut short has not all cells: nothing is known of the rest.
  if (swept.ok() && status.ok()) status = judge.Baseline(update);
  if (!swept.ok() || !status.ok()) {
    // The first one is why.
    const absl::Status& why = swept.ok() ? status : swept;
    *result.mutable_error() = DetailFromStatus(why);
    return why;
  }
  status = rows.Outcome();
  const ExitCode code = ExitCodeFor(status);
  if (code == ExitCode::kPass || code == ExitCode::kGate) {
    return FindingsStatus(result);
  }
  // A memory that no target has is the fault of no cell.
  if (code == ExitCode::kUsage) {
    *result.mutable_error() = DetailFromStatus(status);
  }
  return status;
}

void FinishResult(const absl::Status& status, v1::CheckResult& result) {
  const ExitCode code = ExitCodeFor(status);
  result.set_exit_code(static_cast<int>(code));
  switch (code) {
    case ExitCode::kPass:
      result.set_verdict(v1::CheckResult::PASSED);
      break;
    case ExitCode::kGate:
      result.set_verdict(v1::CheckResult::BROKEN);
      break;
    case ExitCode::kModel:
    case ExitCode::kUsage:
      result.set_verdict(v1::CheckResult::FAILED);
      break;
    default:
      result.set_verdict(v1::CheckResult::ERROR);
  }
  v1::CheckResult::Counts& counts = *result.mutable_counts();
  counts.Clear();
  counts.set_cells(result.cells_size());
  for (const v1::CheckCell& cell : result.cells()) {
    const v1::CheckCell::State state = cell.state();
    counts.set_passed(counts.passed() + (state == v1::CheckCell::PASSED));
    counts.set_broken(counts.broken() + (state == v1::CheckCell::BROKEN));
    counts.set_failed(counts.failed() + (state == v1::CheckCell::FAILED));
    counts.set_errors(counts.errors() + (state == v1::CheckCell::ERROR));
    counts.set_skipped(counts.skipped() + (state == v1::CheckCell::SKIPPED));
    const v1::CheckBaseline::State baseline = cell.baseline().state();
    counts.set_without_baseline(counts.without_baseline() +
                                (baseline == v1::CheckBaseline::MISSING));
    counts.set_changed(counts.changed() +
                       (baseline == v1::CheckBaseline::CHANGED));
  }
}

}  // namespace edgekiln::client
