#include "reports/text/table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = CleanText(cell);
  rows_.push_back(std::move(cells));
}

int Table::WidthOf(size_t column) const {
  int width = TextWidth(columns_[column].title);
  for (const auto& row : rows_) width = std::max(width, TextWidth(row[column]));
  return width;
}

int Table::Shrink(int window, int narrowest, std::vector<Shown>& shown) const {
  int excess = 2 * static_cast<int>(shown.size() - 1) - window;
  for (const Shown& one : shown) excess += one.width;
  for (; excess > 0; --excess) {
    Shown* widest = nullptr;
    for (Shown& one : shown) {
      const Column& column = columns_[one.column];
      if (column.align != Align::kLeft || column.whole ||
          one.width <= narrowest) {
        continue;
      }
      if (widest == nullptr || one.width > widest->width) widest = &one;
    }
    if (widest == nullptr) break;
    --widest->width;
  }
  return std::max(excess, 0);
}

std::vector<Table::Shown> Table::Fitting(int window) const {
  constexpr int kReadable = 12;
  constexpr int kNarrowest = 4;
  std::vector<Shown> all;
  for (size_t c = 0; c < columns_.size(); ++c) all.push_back({c, WidthOf(c)});
  if (window <= 0) return all;
  while (true) {
    std::vector<Shown> shown = all;
    const auto last = std::max_element(
        all.begin(), all.end(), [&](const Shown& a, const Shown& b) {
          return columns_[a.column].drop < columns_[b.column].drop;
        });
    const bool can_drop = columns_[last->column].drop > 0 && all.size() > 1;
    if (Shrink(window, kReadable, shown) == 0 ||
        (!can_drop && Shrink(window, kNarrowest, shown) >= 0)) {
      return shown;
    }
    all.erase(last);
  }
}

std::vector<std::string> Table::ClippedColumn(size_t column, int width) const {
  std::vector<std::string> middle;
  std::vector<std::string> end;
  for (const auto& row : rows_) {
    const std::string& cell = row[column];
    middle.push_back(ClipMiddle(cell, width));
    end.push_back(TextWidth(cell) <= width
                      ? cell
                      : absl::StrCat(ClipEnd(cell, width - 3), "..."));
  }
  const auto distinct = [](const std::vector<std::string>& cells) {
    return std::set<std::string>(cells.begin(), cells.end()).size();
  };
  return distinct(end) > distinct(middle) ? end : middle;
}

std::string Table::Render(const Style& style) const {
  const int window = style.width();
  const std::vector<Shown> shown = Fitting(window);
  bool titled = false;
  std::vector<std::string> lines(rows_.size() + 1);
  for (size_t s = 0; s < shown.size(); ++s) {
    const Column& column = columns_[shown[s].column];
    const int width = shown[s].width;
    titled |= !column.title.empty();
    std::vector<std::string> cells = ClippedColumn(shown[s].column, width);
    cells.insert(cells.begin(), ClipEnd(column.title, width));
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(std::max(0, width - TextWidth(cells[i])), ' ');
      const bool right = column.align == Align::kRight;
      absl::StrAppend(&lines[i], s > 0 ? "  " : "", right ? pad : cells[i],
                      right ? cells[i] : pad);
    }
  }
  std::string out;
  for (size_t i = titled ? 0 : 1; i < lines.size(); ++i) {
    std::string& line = lines[i];
    // Columns that are kept whole can still be too wide together.
    if (window > 0) line = ClipEnd(line, window);
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, i == 0 ? style.Bold(line) : line, "\n");
  }
  return out;
}

}  // namespace edgekiln
