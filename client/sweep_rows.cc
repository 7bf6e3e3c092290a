#include "client/sweep_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/gate.h"
#include "proto/convert.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// Of equal failures, the cells that are named.
constexpr size_t kNamedCells = 3;

bool HasMemory(const v1::Report& report, const std::string& name) {
  const auto& memories = report.memory().memories();
  return std::any_of(memories.begin(), memories.end(),
                     [&](const auto& use) { return use.name() == name; });
}

std::string Word(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_of(" \"\\=") == std::string::npos;
  return plain ? text : absl::StrCat("\"", absl::CEscape(text), "\"");
}

// Failed rows, one line for those with the same reason.
absl::Status CellsFailed(const std::vector<v1::SweepRow>& rows, bool ours) {
  std::map<std::string, std::vector<const v1::SweepRow*>> by_reason;
  std::vector<std::string> order;
  int failed = 0;
  for (const v1::SweepRow& row : rows) {
    if (row.state() != v1::SweepRow::FAILED &&
        row.state() != v1::SweepRow::CANCELLED) {
      continue;
    }
    if (FailedByService(row) != ours) continue;
    ++failed;
    const std::string why =
        absl::StrCat(row.error().reason(), ": ", row.error().what());
    if (by_reason[why].empty()) order.push_back(why);
    by_reason[why].push_back(&row);
  }
  if (failed == 0) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const std::string& why : order) {
    std::vector<std::string> cells;
    const std::vector<const v1::SweepRow*>& of = by_reason[why];
    for (size_t i = 0; i < std::min(of.size(), kNamedCells); ++i) {
      cells.push_back(KeyOf(*of[i]));
    }
    if (of.size() > kNamedCells) {
      cells.push_back(absl::StrCat("and ", of.size() - kNamedCells, " more"));
    }
    lines.push_back(
        CleanText(absl::StrCat(why, "; ", absl::StrJoin(cells, "; "))));
  }
  const v1::ErrorDetail& first = by_reason[order[0]][0]->error();
  return WithLines(
      MakeError(ours ? absl::StatusCode::kInternal
                     : absl::StatusCode::kInvalidArgument,
                {.fault = ours ? Fault::kInfra : Fault::kUser,
                 .reason = "CELLS_FAILED",
                 .what = Count(failed, "cell failed", "cells failed"),
                 .fix = first.fix()}),
      lines);
}

}  // namespace

bool FailedByService(const v1::SweepRow& row) {
  const ExitCode code = ExitCodeFor(StatusFromProto(row.error()));
  return code != ExitCode::kModel && code != ExitCode::kUsage &&
         code != ExitCode::kInterrupted;
}

Gates GatesOf(const v1::SweepGates& gates) {
  Gates out;
  if (gates.optional_max_cycles_case() == v1::SweepGates::kMaxCycles) {
    out.max_cycles = gates.max_cycles();
  }
  if (gates.optional_max_latency_ms_case() == v1::SweepGates::kMaxLatencyMs) {
    out.max_latency_ms = gates.max_latency_ms();
  }
  for (const v1::SweepGates::Memory& memory : gates.max_memory()) {
    out.max_memory.push_back(
        {.memory = memory.name(), .bytes = memory.bytes()});
  }
  if (gates.optional_max_ram_bytes_case() == v1::SweepGates::kMaxRamBytes) {
    out.max_ram_bytes = gates.max_ram_bytes();
  }
  if (gates.optional_min_accuracy_case() == v1::SweepGates::kMinAccuracy) {
    out.min_accuracy = gates.min_accuracy();
  }
  if (gates.optional_max_error_case() == v1::SweepGates::kMaxError) {
    out.max_error = gates.max_error();
  }
  if (gates.optional_max_disagreement_case() ==
      v1::SweepGates::kMaxDisagreement) {
    out.max_disagreement = gates.max_disagreement();
  }
  return out;
}

std::string KeyOf(const v1::SweepRow& row) {
  std::string key =
      absl::StrCat("model=", Word(row.model()), " target=", Word(row.target()),
                   " recipe=", Word(row.recipe()));
  for (const v1::SweepRow::Value& value : row.values()) {
    absl::StrAppend(&key, " ", value.key(), "=", Word(value.value()));
  }
  return key;
}

bool IsSweep(const v1::Job& job) {
  const auto& goals = job.request().goals();
  return std::find(goals.begin(), goals.end(), v1::SWEEP) != goals.end();
}

SweepRows::SweepRows(const v1::SweepRequest& request) {
  for (const v1::SweepGroup& group : request.groups()) {
    gates_.push_back(GatesOf(group.gates()));
  }
}

void JudgeReport(Gates gates, v1::Report& report) {
  // One target need not have the memory that a limit names: others may.
  std::erase_if(gates.max_memory, [&](const MemoryLimit& limit) {
    return !HasMemory(report, limit.memory);
  });
  std::vector<v1::Report> reports = {std::move(report)};
  reports[0].clear_gates();
  // Fails for memories that no report has: there are none of these.
  ApplyGates(gates, reports).IgnoreError();
  report = std::move(reports[0]);
}

void SweepRows::Judge(v1::SweepRow& row) {
  const auto group = static_cast<size_t>(row.group());
  if (row.state() != v1::SweepRow::DONE || group >= gates_.size()) return;
  JudgeReport(gates_[group], *row.mutable_report());
  if (!CheckGates({row.report()}).ok()) ++gates_failed_;
}

bool SweepRows::Apply(const v1::JobEvent& event) {
  if (event.has_planned()) {
    planned_ = event.planned();
    summary_ = planned_.summary();
    return false;
  }
  if (!event.has_row()) return false;
  v1::SweepRow row = event.row();
  Judge(row);
  if (row.state() == v1::SweepRow::DONE) {
    summary_.set_done(summary_.done() + 1);
  } else if (row.state() == v1::SweepRow::FAILED ||
             row.state() == v1::SweepRow::CANCELLED) {
    summary_.set_failed(summary_.failed() + 1);
    if (FailedByService(row)) {
      summary_.set_failed_by_service(summary_.failed_by_service() + 1);
    } else {
      summary_.set_failed_by_user(summary_.failed_by_user() + 1);
    }
  }
  summary_.set_stages_executed(summary_.stages_executed() +
                               row.stages_executed());
  summary_.set_stages_hit(summary_.stages_hit() + row.stages_hit());
  summary_.set_cpu_seconds(summary_.cpu_seconds() + row.cpu_seconds());
  rows_.push_back(std::move(row));
  return true;
}

std::vector<v1::SweepRow> SweepRows::InOrder() const {
  std::vector<v1::SweepRow> rows = rows_;
  std::sort(rows.begin(), rows.end(),
            [](const v1::SweepRow& a, const v1::SweepRow& b) {
              return a.cell() < b.cell();
            });
  return rows;
}

absl::Status SweepRows::Outcome() const {
  const std::vector<v1::SweepRow> rows = InOrder();
  EK_RETURN_IF_ERROR(CellsFailed(rows, /*ours=*/true));
  EK_RETURN_IF_ERROR(CellsFailed(rows, /*ours=*/false));
  std::map<int, const v1::SweepRow*> by_cell;
  for (const v1::SweepRow& row : rows) by_cell[row.cell()] = &row;
  std::vector<v1::Report> reports;
  std::vector<bool> any(gates_.size(), false);
  std::vector<std::set<std::string>> met(gates_.size());  // Limited memories.
  for (const v1::SweepRow& row : rows) {
    // A cell may be merged into one of another group, with other limits.
    const bool merged = row.state() == v1::SweepRow::MERGED;
    const auto first = by_cell.find(merged ? row.same_as() : row.cell());
    if (first == by_cell.end()) continue;
    const v1::SweepRow& ran = *first->second;
    const auto group = static_cast<size_t>(row.group());
    if (ran.state() != v1::SweepRow::DONE || group >= gates_.size()) continue;
    any[group] = true;
    for (const MemoryLimit& limit : gates_[group].max_memory) {
      if (HasMemory(ran.report(), limit.memory))
        met[group].insert(limit.memory);
    }
    if (merged && ran.group() == row.group()) continue;
    reports.push_back(ran.report());
    if (merged) JudgeReport(gates_[group], reports.back());
  }
  for (size_t group = 0; group < gates_.size(); ++group) {
    for (const MemoryLimit& limit : gates_[group].max_memory) {
      if (!any[group] || met[group].count(limit.memory) > 0) continue;
      return UsageError(
          absl::StrCat("no target of the sweep has a memory '", limit.memory,
                       "'"),
          "--max-memory", "a memory that a report names",
          "`edgekiln targets show` lists the memories of a target");
    }
  }
  return CheckGates(reports);
}

}  // namespace edgekiln::client
