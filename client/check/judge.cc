#include "client/check/judge.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/baseline.h"
#include "client/check/compare_baseline.h"
#include "client/gate.h"
#include "client/sweep_rows.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

using Gate = v1::Report::Gate;

v1::SweepGates GatesOfGroup(const ProjectFile& project, int group) {
  const v1::Project& all = project.project();
  return group >= 0 && group < all.groups_size() ? all.groups(group).gates()
                                                 : v1::SweepGates();
}

std::string RuleOf(const Gate& gate) {
  if (absl::StartsWith(gate.name(), "memory.")) return "budget.memory";
  if (gate.name() == "latency_ms") return "budget.latency";
  if (gate.name() == "ram_bytes") return "budget.ram";
  return absl::StrCat("budget.", gate.name());
}

v1::CheckFinding FindingOf(const GateFailure& failure,
                           const ProjectFile& project, int group,
                           const std::string& job) {
  v1::CheckFinding finding;
  finding.set_message(GateFailureText(failure));
  finding.set_fix(GateFailureFix(failure));
  if (failure.gate == nullptr) {
    const v1::Report::BitExact& exact = failure.report->bit_exact();
    finding.set_rule("values.mismatch");
    finding.set_quantity("mismatches");
    finding.set_value(static_cast<double>(exact.mismatches()));
    finding.set_limit(0);
    finding.set_change(finding.value());
    finding.set_layer(CleanText(exact.first_mismatch()));
    *finding.mutable_place() = project.GroupPlace(group);
    return finding;
  }
  const Gate& gate = *failure.gate;
  finding.set_rule(RuleOf(gate));
  finding.set_quantity(gate.name());
  finding.set_unit(gate.unit());
  finding.set_limit(gate.limit());
  // Of accuracy the layers do not tell.
  const bool accuracy = gate.name() == "accuracy" || gate.name() == "error" ||
                        gate.name() == "disagreement";
  if (gate.has_value() && !accuracy) {
    finding.set_fix(
        absl::StrCat("see its layers: edgekiln report show ", CleanText(job)));
  }
  if (gate.has_value()) {
    finding.set_value(gate.value());
    finding.set_change(gate.value() - gate.limit());
    if (gate.limit() != 0) {
      finding.set_percent(100 * finding.change() / gate.limit());
    }
  }
  finding.set_layer(gate.layer());
  *finding.mutable_place() = project.GatePlace(group, gate.name());
  return finding;
}

void SetFigures(const v1::Report& report, v1::CheckCell& cell) {
  *cell.mutable_totals() = report.totals();
  for (const v1::MemoryUse& use : report.memory().memories()) {
    v1::CheckCell::MemoryAmount& memory = *cell.add_memories();
    memory.set_name(use.name());
    memory.set_used_bytes(use.used_bytes());
    memory.set_capacity_bytes(use.capacity_bytes());
  }
  if (report.has_accuracy()) *cell.mutable_accuracy() = report.accuracy();
  *cell.mutable_warnings() = report.warnings();
  *cell.mutable_gates() = report.gates();
}

bool HasFigures(const CellInput& input) {
  return input.outcome != nullptr &&
         input.outcome->state() == v1::SweepRow::DONE;
}

// A failed cell, or one that never ran.
void SetFailure(const v1::SweepRow* row, v1::CheckCell& cell) {
  if (row == nullptr) {
    cell.set_state(v1::CheckCell::ERROR);
    cell.mutable_error()->set_what("the sweep ended before this cell");
    return;
  }
  *cell.mutable_error() = row->error();
  if (row->state() == v1::SweepRow::REFUSED) {
    cell.set_state(v1::CheckCell::SKIPPED);
    return;
  }
  // What was cancelled says nothing of the model.
  const bool service =
      row->state() == v1::SweepRow::CANCELLED || FailedByService(*row);
  cell.set_state(service ? v1::CheckCell::ERROR : v1::CheckCell::FAILED);
}

v1::CheckCell Named(const ProjectFile& project, const CellInput& input) {
  const v1::SweepRow& row = *input.row;
  v1::CheckCell cell;
  cell.set_name(input.names.name);
  if (row.group() >= 0 && row.group() < project.project().groups_size()) {
    cell.set_group(project.project().groups(row.group()).name());
  }
  cell.set_model(row.model());
  cell.set_target(row.target());
  cell.set_recipe(row.recipe());
  for (const v1::SweepRow::Value& value : row.values()) {
    cell.add_values(
        absl::StrCat(value.key(), "=", value.dropped() ? "-" : value.value()));
  }
  cell.set_job(row.job());
  cell.set_cpu_seconds(row.cpu_seconds());
  *cell.mutable_place() = project.ModelPlace(row.group(), row.model());
  cell.set_model_file(project.ModelFile(row.group(), row.model()));
  return cell;
}

}  // namespace

bool NeedsWhole(const ProjectFile& project, const CellInput& input) {
  if (!HasFigures(input)) return false;
  if (input.baseline.has_value() || input.update) return true;
  v1::Report report = input.outcome->report();
  JudgeReport(GatesOf(GatesOfGroup(project, input.row->group())), report);
  return !CheckGates({report}).ok();
}

v1::CheckCell JudgeCell(const ProjectFile& project, const CellInput& input) {
  v1::CheckCell cell = Named(project, input);
  if (!HasFigures(input)) {
    SetFailure(input.outcome, cell);
    return cell;
  }
  if (cell.job().empty()) cell.set_job(input.outcome->job());
  const int group = input.row->group();
  std::vector<v1::Report> reports = {
      input.whole != nullptr ? *input.whole : input.outcome->report()};
  JudgeReport(GatesOf(GatesOfGroup(project, group)), reports[0]);
  SetFigures(reports[0], cell);
  for (const GateFailure& failure : FindGateFailures(reports)) {
    *cell.add_findings() = FindingOf(failure, project, group, cell.job());
  }
  v1::CheckBaseline& baseline = *cell.mutable_baseline();
  baseline.set_file(input.baseline_path);
  if (input.update) {
    baseline.set_state(v1::CheckBaseline::WRITTEN);
  } else if (!input.baseline.has_value()) {
    baseline.set_state(v1::CheckBaseline::MISSING);
  } else {
    CompareBaseline(project, group, *input.baseline, reports[0], cell);
  }
  cell.set_state(cell.findings().empty() ? v1::CheckCell::PASSED
                                         : v1::CheckCell::BROKEN);
  return cell;
}

}  // namespace edgekiln::client
