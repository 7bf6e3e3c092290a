#include "client/render/sweep_row_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"
#include "client/render/sweep_rows_text.h"
#include "reports/metric.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr char kNothing[] = "-";

std::string ValueOf(const v1::SweepRow& row, const std::string& key) {
  for (const v1::SweepRow::Value& value : row.values()) {
    if (value.key() != key) continue;
    return value.dropped() ? kNothing : value.value();
  }
  return kNothing;
}

std::string NoteOf(const v1::SweepRow& row, const SweepMarks& marks) {
  std::vector<std::string> notes;
  const auto front = marks.front.find(row.cell());
  if (front != marks.front.end() && front->second) notes.emplace_back("front");
  if (row.optional_same_as_case() == v1::SweepRow::kSameAs) {
    notes.push_back(absl::StrCat("= cell ", row.same_as()));
  }
  if (row.report().bit_exact().mismatches() > 0) {
    notes.emplace_back("MISMATCHES");
  }
  const auto& gates = row.report().gates();
  const auto broken = std::count_if(gates.begin(), gates.end(),
                                    [](const auto& g) { return !g.passed(); });
  if (broken > 0)
    notes.push_back(Count(broken, "limit broken", "limits broken"));
  if (row.has_error()) notes.push_back(CleanText(row.error().reason()));
  return absl::StrJoin(notes, ", ");
}

}  // namespace

std::vector<SweepDimension> DimensionsOf(const v1::SweepPlanned& planned) {
  std::vector<SweepDimension> dimensions = {
      {"model", [](const v1::SweepRow& row) { return row.model(); }},
      {"target", [](const v1::SweepRow& row) { return row.target(); }},
      {"recipe", [](const v1::SweepRow& row) { return row.recipe(); }}};
  for (const std::string& key : planned.keys()) {
    dimensions.push_back(
        {key, [key](const v1::SweepRow& row) { return ValueOf(row, key); }});
  }
  return dimensions;
}

void CommonMemories::Add(const v1::SweepRow& row) {
  const auto& uses = row.report().memory().memories();
  if (uses.empty()) return;
  if (!std::exchange(any_, true)) {
    for (const v1::MemoryUse& use : uses) names_.push_back(use.name());
  }
  std::erase_if(names_, [&](const std::string& name) {
    return std::none_of(uses.begin(), uses.end(),
                        [&](const auto& use) { return use.name() == name; });
  });
}

std::vector<std::string> CommonMemories::names() const {
  if (names_.empty()) return {"flash", "ram"};
  return names_;
}

bool HasRow(const v1::SweepRow& row) {
  return row.state() != v1::SweepRow::REFUSED &&
         row.state() != v1::SweepRow::MERGED;
}

bool HasAccuracy(const v1::SweepRow& row) {
  return row.report().has_accuracy();
}

std::string CyclesText(const v1::SweepRow& row, const SweepMarks& marks) {
  if (row.state() != v1::SweepRow::DONE) return StateText(row.state());
  const auto best = marks.best.find(row.cell());
  const bool is_best = best != marks.best.end() && best->second;
  const int64_t cycles = row.report().totals().cycles();
  if (cycles <= 0) return kNothing;
  const v1::Fidelity fidelity = row.report().totals().fidelity();
  return absl::StrCat(GroupDigits(cycles),
                      fidelity == v1::ESTIMATE
                          ? absl::StrCat(" (", FidelityText(fidelity), ")")
                          : "",
                      is_best ? " *" : "  ");
}

std::string RenderRows(const std::vector<v1::SweepRow>& rows,
                       const std::vector<SweepDimension>& dimensions,
                       const std::vector<std::string>& memories,
                       const SweepMarks& marks, const Style& style) {
  std::vector<Table::Column> columns = {
      {.title = "CELL", .align = Align::kRight, .drop = 6}};
  for (const SweepDimension& dimension : dimensions) {
    columns.push_back(
        {.title = absl::AsciiStrToUpper(CleanText(dimension.name))});
  }
  columns.push_back({"CYCLES  ", Align::kRight});
  columns.push_back({.title = "LATENCY", .align = Align::kRight, .drop = 4});
  for (const std::string& name : memories) {
    columns.push_back({.title = absl::AsciiStrToUpper(CleanText(name)),
                       .align = Align::kRight,
                       .drop = 3});
  }
  const bool accuracy = std::any_of(rows.begin(), rows.end(), HasAccuracy);
  if (accuracy) columns.push_back({"ACCURACY", Align::kRight});
  columns.push_back({.title = "NOTE", .drop = 2});
  Table table(std::move(columns));
  for (const v1::SweepRow& row : rows) {
    const v1::Report& report = row.report();
    std::vector<std::string> cells = {absl::StrCat(row.cell())};
    for (const SweepDimension& dimension : dimensions) {
      cells.push_back(ClipMiddle(CleanText(dimension.of(row)), 40));
    }
    cells.push_back(CyclesText(row, marks));
    cells.push_back(report.totals().latency_ms() > 0
                        ? LatencyText(report.totals().latency_ms())
                        : kNothing);
    for (const std::string& name : memories) {
      const std::optional<int64_t> bytes = MemoryOf(report, name);
      cells.push_back(report.totals().cycles() > 0 && bytes.has_value()
                          ? FormatBytes(*bytes)
                          : kNothing);
    }
    if (accuracy) {
      cells.push_back(MetricCell(report));
    }
    cells.push_back(NoteOf(row, marks));
    table.AddRow(std::move(cells));
  }
  return table.Render(style);
}

}  // namespace edgekiln::client
