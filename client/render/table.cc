#include "client/render/table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::client {
namespace {

constexpr int kGap = 2;
// A name says enough with this many columns to keep other columns beside it.
constexpr int kComfortable = 16;
// Names that are narrower say little.
constexpr int kNarrow = 12;

// Of a row with these columns.
int RowWidth(const std::vector<int>& widths) {
  int width = -kGap;
  for (const int column : widths) width += column < 0 ? 0 : column + kGap;
  return width;
}

std::string Toned(const std::string& line, Tone tone, const Style& style) {
  switch (tone) {
    case Tone::kGood:
      return style.Green(line);
    case Tone::kBad:
      return style.Red(line);
    case Tone::kStrong:
      return style.Bold(line);
    case Tone::kNone:
      break;
  }
  return line;
}

std::string CutEnd(const std::string& cell, int width) {
  if (TextWidth(cell) <= width) return cell;
  if (width < 5) return ClipEnd(cell, width);
  std::string head = ClipEnd(cell, width - 3);
  head.erase(head.find_last_not_of(' ') + 1);
  return head + "...";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells, Tone tone) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = CleanText(cell);
  rows_.push_back(std::move(cells));
  tones_.push_back(tone);
}

std::vector<int> Table::NaturalWidths() const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = TextWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, TextWidth(row[c]));
    widths.push_back(width);
  }
  return widths;
}

void Table::DropColumns(int window, std::vector<int>& widths) const {
  while (true) {
    std::vector<int> least = widths;
    int first = -1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] < 0) continue;
      const Column& column = columns_[c];
      if (column.align == Align::kLeft && !column.whole) {
        least[c] = std::min(widths[c], kComfortable);
      }
      if (column.drop > (first < 0 ? 0 : columns_[first].drop)) {
        first = static_cast<int>(c);
      }
    }
    if (first < 0 || RowWidth(least) <= window) return;
    widths[first] = -1;
  }
}

void Table::NarrowColumns(int window, std::vector<int>& widths) const {
  int excess = RowWidth(widths) - window;
  // Takes from the widest of the columns that `may`, down to `least`.
  const auto take = [&](int least, auto may) {
    for (; excess > 0; --excess) {
      int widest = -1;
      for (size_t c = 0; c < columns_.size(); ++c) {
        if (widths[c] <= least || !may(columns_[c])) continue;
        if (widest < 0 || widths[c] > widths[widest]) {
          widest = static_cast<int>(c);
        }
      }
      if (widest < 0) return;
      --widths[widest];
    }
  };
  const auto is_text = [](const Column& column) {
    return column.align == Align::kLeft && !column.whole;
  };
  take(kNarrow, is_text);
  take(1, is_text);
  take(1, [](const Column& column) { return !column.whole; });
  take(1, [](const Column&) { return true; });
}

std::vector<int> Table::FittingWidths(int window) const {
  std::vector<int> widths = NaturalWidths();
  if (window <= 0) return widths;
  DropColumns(window, widths);
  NarrowColumns(window, widths);
  return widths;
}

std::vector<std::string> Table::ClippedColumn(size_t column, int width) const {
  std::vector<std::string> middle;
  std::vector<std::string> end;
  for (const auto& row : rows_) {
    middle.push_back(ClipMiddle(row[column], width));
    end.push_back(CutEnd(row[column], width));
  }
  if (columns_[column].cut == Cut::kProse) return end;
  const auto distinct = [](const std::vector<std::string>& cells) {
    return std::set<std::string>(cells.begin(), cells.end()).size();
  };
  return distinct(end) > distinct(middle) ? end : middle;
}

std::string Table::Render(const Style& style) const {
  const std::vector<int> widths = FittingWidths(style.width());
  bool titled = false;
  std::vector<std::string> lines(rows_.size() + 1);
  bool first = true;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (widths[c] < 0) continue;
    titled |= !columns_[c].title.empty();
    std::vector<std::string> cells = ClippedColumn(c, widths[c]);
    cells.insert(cells.begin(), ClipEnd(columns_[c].title, widths[c]));
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(std::max(0, widths[c] - TextWidth(cells[i])), ' ');
      const bool right = columns_[c].align == Align::kRight;
      absl::StrAppend(&lines[i], first ? "" : std::string(kGap, ' '),
                      right ? pad : cells[i], right ? cells[i] : pad);
    }
    first = false;
  }
  std::string out;
  for (size_t i = titled ? 0 : 1; i < lines.size(); ++i) {
    std::string& line = lines[i];
    line.erase(line.find_last_not_of(' ') + 1);
    const Tone tone = i == 0 ? Tone::kStrong : tones_[i - 1];
    absl::StrAppend(&out, Toned(line, tone, style), "\n");
  }
  return out;
}

}  // namespace edgekiln::client
