#include "client/check/summary.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/format_bytes.h"
#include "client/check/describe.h"
#include "reports/export/markdown_text.h"
#include "reports/metric.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

using Cell = v1::CheckCell;

constexpr char kNothing[] = "-";

// What a table says of a cell, in both formats.
struct Columns {
  bool recipes = false;   // One is not "default".
  bool values = false;    // Keys are varied.
  bool groups = false;    // Groups have names.
  bool accuracy = false;  // One was measured.
};

Columns ColumnsOf(const v1::CheckResult& result) {
  Columns columns;
  for (const Cell& cell : result.cells()) {
    columns.recipes |= !cell.recipe().empty() && cell.recipe() != "default";
    columns.values |= cell.values_size() > 0;
    columns.groups |= !cell.group().empty();
    columns.accuracy |= cell.has_accuracy();
  }
  return columns;
}

std::string CyclesText(const Cell& cell) {
  return cell.has_totals() ? GroupDigits(cell.totals().cycles()) : kNothing;
}

// Of all memories, "sram 96.1 KiB, flash 1.2 MiB".
std::string MemoryText(const Cell& cell) {
  std::vector<std::string> parts;
  for (const Cell::MemoryAmount& memory : cell.memories()) {
    parts.push_back(absl::StrCat(CleanText(memory.name()), " ",
                                 FormatBytes(memory.used_bytes())));
  }
  return parts.empty() ? kNothing : absl::StrJoin(parts, ", ");
}

std::string AccuracyText(const Cell& cell) {
  if (!cell.has_accuracy()) return kNothing;
  const v1::Report::Accuracy& accuracy = cell.accuracy();
  const std::string value =
      MetricValueText(accuracy.metric(), accuracy.value());
  return accuracy.metric() == "top1"
             ? value
             : absl::StrCat(CleanText(accuracy.metric()), " ", value);
}

// "cycles, accuracy": what is broken; or why there are no figures.
std::string NoteText(const Cell& cell) {
  if (cell.has_error()) return ErrorHeadline(cell.error());
  std::vector<std::string> broken;
  std::set<std::string> seen;
  for (const v1::CheckFinding& finding : cell.findings()) {
    if (seen.insert(finding.rule()).second) broken.push_back(finding.rule());
  }
  if (!broken.empty()) return absl::StrJoin(broken, ", ");
  switch (cell.baseline().state()) {
    case v1::CheckBaseline::MISSING:
      return "no baseline";
    case v1::CheckBaseline::WRITTEN:
      return "new baseline";
    case v1::CheckBaseline::CHANGED:
      return "changed";
    default:
      return "";
  }
}

std::string Painted(const Cell& cell, const Style& style) {
  const std::string text = CellStateText(cell.state());
  switch (cell.state()) {
    case Cell::PASSED:
      return style.Green(text);
    case Cell::SKIPPED:
      return style.Yellow(text);
    default:
      return style.Red(text);
  }
}

std::string CellTable(const v1::CheckResult& result, const Style& style) {
  const Columns columns = ColumnsOf(result);
  std::vector<Table::Column> titles = {{.title = "RESULT", .whole = true}};
  if (columns.groups) titles.push_back({.title = "GROUP", .drop = 4});
  titles.push_back({.title = "MODEL"});
  titles.push_back({.title = "TARGET"});
  if (columns.recipes) titles.push_back({.title = "RECIPE"});
  if (columns.values) titles.push_back({.title = "VALUES"});
  titles.push_back({.title = "CYCLES", .align = Align::kRight});
  titles.push_back({.title = "CHANGE", .align = Align::kRight});
  titles.push_back({.title = "MEMORY", .drop = 5});
  if (columns.accuracy) {
    titles.push_back({.title = "ACCURACY", .align = Align::kRight, .drop = 3});
  }
  titles.push_back({.title = "NOTE"});
  Table table(titles);
  for (const Cell& cell : result.cells()) {
    std::vector<std::string> row = {CellStateText(cell.state())};
    if (columns.groups) row.push_back(cell.group());
    row.push_back(cell.model());
    row.push_back(cell.target());
    if (columns.recipes) row.push_back(cell.recipe());
    if (columns.values) row.push_back(absl::StrJoin(cell.values(), " "));
    row.push_back(CyclesText(cell));
    row.push_back(CyclesChangeText(cell));
    row.push_back(MemoryText(cell));
    if (columns.accuracy) row.push_back(AccuracyText(cell));
    row.push_back(NoteText(cell));
    table.AddRow(std::move(row));
  }
  return table.Render(style);
}

bool IsBad(const Cell& cell) {
  return cell.state() != Cell::PASSED && cell.state() != Cell::SKIPPED;
}

// Cells that have more to say than their row: what is broken first.
std::vector<const Cell*> ToExplain(const v1::CheckResult& result) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : result.cells()) {
    if (IsBad(cell)) cells.push_back(&cell);
  }
  for (const Cell& cell : result.cells()) {
    if (!IsBad(cell) && !DescribeCell(cell).empty()) cells.push_back(&cell);
  }
  return cells;
}

std::string MarkdownVerdict(const v1::CheckResult& result) {
  switch (result.verdict()) {
    case v1::CheckResult::PASSED:
      return "passed";
    case v1::CheckResult::BROKEN:
      return "broken";
    case v1::CheckResult::FAILED:
      return "failed";
    default:
      return "did not finish";
  }
}

std::string MarkdownTable(const v1::CheckResult& result) {
  const Columns columns = ColumnsOf(result);
  std::vector<std::string> titles = {"result", "model", "target"};
  std::vector<std::string> rulers = {"---", "---", "---"};
  const auto column = [&](bool shown, const char* title, const char* ruler) {
    if (!shown) return;
    titles.emplace_back(title);
    rulers.emplace_back(ruler);
  };
  column(columns.groups, "group", "---");
  column(columns.recipes, "recipe", "---");
  column(columns.values, "values", "---");
  column(true, "cycles", "---:");
  column(true, "change", "---:");
  column(true, "memory", "---");
  column(columns.accuracy, "accuracy", "---:");
  column(true, "note", "---");
  std::string out = MarkdownRow(titles) + MarkdownRow(rulers);
  for (const Cell& cell : result.cells()) {
    const std::string state = CellStateText(cell.state());
    std::vector<std::string> row = {
        IsBad(cell) ? absl::StrCat("**", state, "**") : state,
        MarkdownCode(cell.model()), MarkdownCode(cell.target())};
    if (columns.groups) row.push_back(MarkdownCode(cell.group()));
    if (columns.recipes) row.push_back(MarkdownCode(cell.recipe()));
    if (columns.values) {
      row.push_back(MarkdownCode(absl::StrJoin(cell.values(), " ")));
    }
    row.push_back(CyclesText(cell));
    row.push_back(MarkdownText(CyclesChangeText(cell)));
    row.push_back(MarkdownText(MemoryText(cell)));
    if (columns.accuracy) row.push_back(MarkdownText(AccuracyText(cell)));
    row.push_back(MarkdownText(NoteText(cell)));
    out += MarkdownRow(row);
  }
  return out;
}

}  // namespace

std::string RenderCheck(const v1::CheckResult& result, const Style& style) {
  std::string out;
  if (result.cells_size() > 0) out += CellTable(result, style);
  for (const Cell* cell : ToExplain(result)) {
    absl::StrAppend(&out, "\n", Painted(*cell, style), ": ",
                    style.Bold(CleanText(cell->name())), "\n");
    for (const std::string& line : DescribeCell(*cell)) {
      // Lines of their own that belong to the one before are indented twice.
      const bool below = absl::StartsWith(line, "  ");
      const std::string indent(below ? 4 : 2, ' ');
      const int width =
          style.width() == 0
              ? 0
              : std::max(style.width() - static_cast<int>(indent.size()), 20);
      for (const std::string& part :
           WrapWords(absl::string_view(line).substr(below ? 2 : 0), width)) {
        absl::StrAppend(&out, indent, part, "\n");
      }
    }
  }
  if (!out.empty()) out += "\n";
  for (const v1::CheckNote& note : result.notes()) {
    for (const std::string& part :
         WrapWords(absl::StrCat("note: ", CleanText(note.message())),
                   style.width())) {
      absl::StrAppend(&out, part, "\n");
    }
  }
  return absl::StrCat(out, CountsText(result), "\n");
}

std::string CheckToMarkdown(const v1::CheckResult& result) {
  std::string out =
      absl::StrCat("## edgekiln check: ", MarkdownVerdict(result), "\n\n",
                   MarkdownText(CountsText(result)), "\n");
  if (result.has_error()) {
    out += "\n";
    for (const std::string& line : DescribeError(result.error())) {
      absl::StrAppend(&out, "- ", MarkdownText(line), "\n");
    }
  }
  if (result.cells_size() > 0) {
    absl::StrAppend(&out, "\n", MarkdownTable(result));
  }
  for (const Cell* cell : ToExplain(result)) {
    absl::StrAppend(&out, "\n### ", MarkdownCode(cell->name()), ": ",
                    CellStateText(cell->state()), "\n\n");
    for (const std::string& line : DescribeCell(*cell)) {
      absl::string_view text = line;
      const bool below = absl::ConsumePrefix(&text, "  ");
      if (below) absl::ConsumePrefix(&text, "- ");
      absl::StrAppend(&out, below ? "  - " : "- ", MarkdownText(text), "\n");
    }
  }
  if (result.notes_size() > 0) out += "\n";
  for (const v1::CheckNote& note : result.notes()) {
    absl::StrAppend(&out, "- note: ", MarkdownText(note.message()), "\n");
  }
  return out;
}

}  // namespace edgekiln::client
