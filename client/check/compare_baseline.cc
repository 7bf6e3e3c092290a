#include "client/check/compare_baseline.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/baseline.h"
#include "client/parse_reports.h"
#include "client/regression.h"
#include "reports/diff.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr char kThisRun[] = "this run";
// More are in the diff: edgekiln report diff FILE JOB.
constexpr int kShownLayers = 20;
constexpr char kAcceptChange[] =
    "if the change is wanted, write new baselines: edgekiln check "
    "--update-baselines";

RegressionBounds BoundsOf(const v1::Project::Regression& regression) {
  using Regression = v1::Project::Regression;
  RegressionBounds bounds;
  if (regression.optional_max_cycles_growth_case() ==
      Regression::kMaxCyclesGrowth) {
    bounds.cycles_percent = regression.max_cycles_growth();
  }
  if (regression.optional_max_memory_growth_case() ==
      Regression::kMaxMemoryGrowth) {
    bounds.memory_percent = regression.max_memory_growth();
  }
  if (regression.optional_max_accuracy_drop_case() ==
      Regression::kMaxAccuracyDrop) {
    bounds.accuracy_points = regression.max_accuracy_drop();
  }
  return bounds;
}

bool Changed(const v1::ReportDiff::Layer& layer) {
  return layer.change() != 0 || layer.presence() != v1::ReportDiff::BOTH ||
         layer.differences_size() > 0;
}

void SetChanges(const v1::ReportDiff& diff, v1::CheckBaseline& baseline) {
  for (const v1::ReportDiff::Quantity& total : diff.totals()) {
    if (total.change() != 0) *baseline.add_totals() = total;
  }
  const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
  const bool same = accuracy.has_a() == accuracy.has_b() &&
                    accuracy.has_change() && accuracy.change() == 0;
  if (diff.has_accuracy() && !same) {
    *baseline.mutable_accuracy() = accuracy;
  }
  *baseline.mutable_caveats() = diff.caveats();
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    if (!Changed(layer)) continue;
    if (baseline.layers_size() == kShownLayers) {
      baseline.set_more_layers(baseline.more_layers() + 1);
      continue;
    }
    v1::CheckBaseline::Layer& out = *baseline.add_layers();
    out.set_id(layer.id());
    out.set_presence(layer.presence());
    out.set_baseline_cycles(layer.a().cycles());
    out.set_cycles(layer.b().cycles());
    out.set_change(layer.change());
    *out.mutable_differences() = layer.differences();
  }
}

// "cycles grew from 5 to 6 (+20.00 %), most in conv2 (+1); allowed +2 %".
v1::CheckFinding FindingOf(const Regression& one, const ProjectFile& project,
                           int group) {
  v1::CheckFinding finding;
  finding.set_quantity(one.quantity);
  finding.set_limit(one.bound);
  finding.set_layer(one.layer);
  finding.set_layer_change(one.layer_change);
  finding.set_fix(kAcceptChange);
  const char* field = "max_accuracy_drop";
  if (one.kind == Regression::kCycles || one.kind == Regression::kMemory) {
    const bool cycles = one.kind == Regression::kCycles;
    field = cycles ? "max_cycles_growth" : "max_memory_growth";
    finding.set_rule(cycles ? "regression.cycles" : "regression.memory");
    finding.set_unit(cycles ? "cycles" : "bytes");
    for (const v1::ReportDiff::Quantity& total : one.diff->totals()) {
      if (total.name() != one.quantity) continue;
      finding.set_baseline(static_cast<double>(total.a()));
      finding.set_value(static_cast<double>(total.b()));
      finding.set_change(static_cast<double>(total.change()));
      if (total.has_percent()) finding.set_percent(total.percent());
    }
    std::string message = one.what;
    if (!cycles && !one.layer.empty()) {
      absl::StrAppend(&message, ", most in ", CleanText(one.layer));
    }
    finding.set_message(
        absl::StrCat(message, "; allowed is +", one.bound, " %"));
  } else {
    const v1::ReportDiff::Accuracy& accuracy = one.diff->accuracy();
    finding.set_rule("regression.accuracy");
    if (accuracy.has_a()) finding.set_baseline(accuracy.a());
    if (accuracy.has_b()) finding.set_value(accuracy.b());
    if (accuracy.has_points()) finding.set_change(accuracy.points());
    finding.set_message(
        absl::StrCat(one.what, "; allowed is -", one.bound, " points"));
  }
  *finding.mutable_place() = project.RegressionPlace(group, field);
  return finding;
}

// A broken budget that was kept at the baseline: where it was lost.
void AddHistory(const v1::ReportDiff& diff, v1::CheckFinding& finding) {
  for (const v1::ReportDiff::Quantity& total : diff.totals()) {
    if (total.name() != finding.quantity() || total.change() == 0) continue;
    finding.set_baseline(static_cast<double>(total.a()));
  }
  if (finding.quantity() == "accuracy" && diff.accuracy().has_a()) {
    finding.set_baseline(diff.accuracy().a());
  }
  const bool cycles =
      finding.quantity() == "cycles" || finding.quantity() == "latency_ms";
  if (!cycles) return;
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    if (layer.change() <= 0) continue;
    finding.set_layer_change(layer.change());
    finding.set_message(absl::StrCat(finding.message(), "; since the baseline ",
                                     CleanText(layer.id()), " grew most, by ",
                                     GroupDigits(layer.change()), " cycles"));
    if (finding.layer().empty()) finding.set_layer(layer.id());
    return;
  }
}

v1::CheckFinding Unreadable(const std::string& file, std::string why,
                            const ProjectFile& project, int group) {
  v1::CheckFinding finding;
  finding.set_rule("baseline.unreadable");
  finding.set_message(std::move(why));
  finding.set_fix(
      "restore it from the repository, or write new baselines: edgekiln check "
      "--update-baselines");
  *finding.mutable_place() = project.GroupPlace(group);
  finding.mutable_place()->set_file(file);
  finding.mutable_place()->clear_line();
  finding.mutable_place()->clear_column();
  return finding;
}

}  // namespace

void CompareBaseline(const ProjectFile& project, int group,
                     absl::string_view bytes, const v1::Report& report,
                     v1::CheckCell& cell) {
  v1::CheckBaseline& baseline = *cell.mutable_baseline();
  if (bytes == BaselineJson({report})) {
    baseline.set_state(v1::CheckBaseline::UNCHANGED);
    return;
  }
  baseline.set_state(v1::CheckBaseline::CHANGED);
  const absl::StatusOr<std::vector<v1::Report>> old =
      ParseReports(bytes, baseline.file());
  if (!old.ok() || old->size() != 1) {
    const auto detail = GetErrorDetail(old.status());
    *cell.add_findings() = Unreadable(
        baseline.file(),
        detail.has_value()
            ? detail->what
            : absl::StrCat("'", baseline.file(), "' holds several reports"),
        project, group);
    return;
  }
  const v1::ReportDiff diff =
      DiffReports(old->front(), baseline.file(), report, kThisRun);
  SetChanges(diff, baseline);
  for (v1::CheckFinding& finding : *cell.mutable_findings()) {
    AddHistory(diff, finding);
  }
  for (const Regression& one :
       FindRegressions(diff, BoundsOf(project.RegressionOf(group)))) {
    *cell.add_findings() = FindingOf(one, project, group);
  }
}

}  // namespace edgekiln::client
