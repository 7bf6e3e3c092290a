#include "client/render/sweep_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/sweep_marks.h"
#include "client/render/sweep_row_table.h"
#include "client/render/sweep_rows_text.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr char kNothing[] = "-";
// Columns of a matrix; more are a table.
constexpr size_t kMaxMatrixColumns = 24;
constexpr size_t kNamedCells = 4;

// One of the things in which rows differ.
struct Dimension : SweepDimension {
  std::vector<std::string> values = {};  // In the order of the cells.
};

// Those with several values among `rows`.
std::vector<Dimension> Varying(const std::vector<v1::SweepRow>& rows,
                               const SweepRows& all) {
  std::vector<Dimension> dimensions;
  for (SweepDimension& one : DimensionsOf(all.planned())) {
    Dimension dimension{std::move(one)};
    std::set<std::string> known;
    for (const v1::SweepRow& row : rows) {
      std::string value = dimension.of(row);
      if (known.insert(value).second) {
        dimension.values.push_back(std::move(value));
      }
    }
    if (dimension.values.size() > 1) {
      dimensions.push_back(std::move(dimension));
    }
  }
  return dimensions;
}

std::vector<std::string> MemoriesOf(const std::vector<v1::SweepRow>& rows) {
  CommonMemories common;
  for (const v1::SweepRow& row : rows) common.Add(row);
  return common.names();
}

// What the marks in the table mean.
std::string Legend(const std::vector<v1::SweepRow>& rows,
                   const std::vector<std::string>& memories,
                   const Style& style) {
  const bool accuracy = std::any_of(rows.begin(), rows.end(), HasAccuracy);
  std::string text = absl::StrCat(
      "* fewest cycles of the model; front: no other row of it is as good in "
      "cycles, ",
      CleanText(absl::StrJoin(memories, ", ")), accuracy ? ", accuracy" : "",
      " and better in one");
  const bool same =
      std::any_of(rows.begin(), rows.end(), [](const v1::SweepRow& row) {
        return row.optional_same_as_case() == v1::SweepRow::kSameAs;
      });
  if (same) text += "; = cell: the very same program as that cell";
  std::string out;
  for (const std::string& line : WrapWords(text, style.width())) {
    absl::StrAppend(&out, style.Dim(line), "\n");
  }
  return out;
}

// Cycles of two dimensions. Merged cells have the figures of those they are
// merged into.
std::string RenderMatrix(const std::vector<v1::SweepRow>& rows,
                         const Dimension& down, const Dimension& across,
                         const SweepMarks& marks, const Style& style) {
  std::map<int, const v1::SweepRow*> by_cell;
  std::map<std::pair<std::string, std::string>, const v1::SweepRow*> at;
  for (const v1::SweepRow& row : rows) {
    by_cell[row.cell()] = &row;
    at[{down.of(row), across.of(row)}] = &row;
  }
  std::vector<Table::Column> columns = {
      {.title =
           absl::StrCat(CleanText(down.name), " \\ ", CleanText(across.name))}};
  for (const std::string& value : across.values) {
    columns.push_back({.title = absl::StrCat(CleanText(value), "  "),
                       .align = Align::kRight});
  }
  Table table(std::move(columns));
  for (const std::string& value : down.values) {
    std::vector<std::string> cells = {CleanText(value)};
    for (const std::string& other : across.values) {
      const auto found = at.find({value, other});
      const v1::SweepRow* row = found == at.end() ? nullptr : found->second;
      if (row != nullptr && row->state() == v1::SweepRow::MERGED) {
        const auto first = by_cell.find(row->same_as());
        if (first != by_cell.end()) row = first->second;
      }
      cells.push_back(row == nullptr ? kNothing : CyclesText(*row, marks));
    }
    table.AddRow(std::move(cells));
  }
  return table.Render(style);
}

// Rows that have no figures, those with the same reason together.
std::string RenderProblems(const std::vector<v1::SweepRow>& rows,
                           const Style& style) {
  struct Problem {
    const v1::SweepRow* first = nullptr;
    std::vector<std::string> cells;
    size_t count = 0;
  };
  std::map<std::string, size_t> known;
  std::vector<Problem> problems;
  for (const v1::SweepRow& row : rows) {
    if (!row.has_error()) continue;
    const v1::ErrorDetail& error = row.error();
    const auto [it, is_new] =
        known.try_emplace(absl::StrCat(StateText(row.state()), error.reason(),
                                       error.what(), error.limit()),
                          problems.size());
    if (is_new) problems.emplace_back().first = &row;
    Problem& problem = problems[it->second];
    ++problem.count;
    if (problem.cells.size() < kNamedCells) {
      problem.cells.push_back(absl::StrCat(row.cell(), " (", KeyOf(row), ")"));
    }
  }
  std::string out;
  const auto add = [&](absl::string_view text, absl::string_view label) {
    if (text.empty()) return;
    const std::string front = absl::StrCat("  ", label);
    const int width =
        style.width() > 0 ? std::max(style.width() - TextWidth(front), 20) : 0;
    std::string indent = front;
    for (const std::string& line : WrapWords(CleanText(text), width)) {
      absl::StrAppend(&out, indent, line, "\n");
      indent = std::string(front.size(), ' ');
    }
  };
  for (const Problem& problem : problems) {
    const v1::ErrorDetail& error = problem.first->error();
    absl::StrAppend(&out, "\n",
                    style.Red(absl::StrCat(StateText(problem.first->state()),
                                           ": ", CleanText(error.what()))),
                    "\n");
    add(error.where(), "where: ");
    add(error.limit(), "limit: ");
    add(error.need(), "need:  ");
    add(error.fix(), "fix:   ");
    std::string cells = absl::StrJoin(problem.cells, ", ");
    if (problem.count > problem.cells.size()) {
      absl::StrAppend(&cells, " and ", problem.count - problem.cells.size(),
                      " more");
    }
    add(cells, problem.count == 1 ? "cell:  " : "cells: ");
  }
  return out;
}

}  // namespace

std::string SweepSummaryText(const v1::SweepSummary& summary) {
  std::vector<std::string> parts = {
      absl::StrCat(GroupDigits(summary.done()), " of ",
                   GroupDigits(summary.valid()), " done")};
  const auto add = [&](int64_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(GroupDigits(count), " ", what));
  };
  add(summary.failed(), "failed");
  add(summary.refused(), "refused");
  add(summary.merged(), "the same as another cell");
  add(summary.excluded(), "excluded");
  return absl::StrCat(Count(summary.cells(), "cell", "cells"), ": ",
                      absl::StrJoin(parts, ", "));
}

std::string RenderSweep(const SweepRows& all,
                        const std::vector<std::string>& chosen,
                        const Style& style) {
  const std::vector<v1::SweepRow> rows = all.InOrder();
  const std::vector<std::string> memories =
      chosen.empty() ? MemoriesOf(rows) : chosen;
  const SweepMarks marks = MarksOf(rows, memories);
  const std::vector<Dimension> dimensions = Varying(rows, all);
  std::string out;
  const bool matrix =
      chosen.empty() && dimensions.size() == 2 &&
      std::min(dimensions[0].values.size(), dimensions[1].values.size()) <=
          kMaxMatrixColumns &&
      std::none_of(rows.begin(), rows.end(), HasAccuracy);
  if (matrix) {
    const bool turn = dimensions[1].values.size() > dimensions[0].values.size();
    out = RenderMatrix(rows, dimensions[turn ? 1 : 0], dimensions[turn ? 0 : 1],
                       marks, style);
    absl::StrAppend(&out, style.Dim("cycles; * fewest of the model"), "\n");
  } else {
    std::vector<v1::SweepRow> ran;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(ran), HasRow);
    if (!ran.empty()) {
      out = RenderRows(ran, {dimensions.begin(), dimensions.end()}, memories,
                       marks, style);
      out += Legend(ran, memories, style);
    }
  }
  absl::StrAppend(&out, RenderProblems(rows, style), "\n");
  const v1::SweepSummary& summary = all.summary();
  absl::StrAppend(&out, SweepSummaryText(summary), "\n");
  if (summary.stages_executed() + summary.stages_hit() == 0) return out;
  absl::StrAppend(&out, "stages: ", GroupDigits(summary.stages_executed()),
                  " run, ", GroupDigits(summary.stages_hit()), " found; ",
                  FormatTimeSpan(absl::Seconds(summary.cpu_seconds())),
                  " of CPU\n");
  return out;
}

}  // namespace edgekiln::client
