#include "client/render/live_block.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr absl::string_view kToLineEnd = "\x1b[K";
constexpr absl::string_view kToScreenEnd = "\x1b[J";

// Columns of a line with colours.
int WidthOf(absl::string_view line) {
  std::string text;
  while (!line.empty()) {
    const size_t escape = line.find('\x1b');
    absl::StrAppend(&text, line.substr(0, escape));
    const size_t end = escape == line.npos ? line.npos : line.find('m', escape);
    line = end == line.npos ? "" : line.substr(end + 1);
  }
  return TextWidth(text);
}

// That a line takes in a window of so many columns.
int RowsOf(absl::string_view line, int columns) {
  if (columns <= 0) return 1;
  return std::max(1, (WidthOf(line) + columns - 1) / columns);
}

}  // namespace

std::string LiveBlock::ToBegin(int columns) const {
  int above = lines_above();
  if (columns < columns_) {
    above = -1;
    for (const std::string& line : lines_) above += RowsOf(line, columns);
  }
  return above > 0 ? absl::StrCat("\r\x1b[", above, "A") : "\r";
}

std::string LiveBlock::Draw(std::vector<std::string> lines, int columns) {
  const bool resized = drawn() && columns != columns_;
  if (!resized && lines == lines_) return "";
  // As most of the time: the clock moves, and no row is new.
  const bool only_last =
      !resized && lines.size() == std::max<size_t>(lines_.size(), 1) &&
      std::equal(lines.begin(), lines.end() - 1, lines_.begin());
  std::string text;
  if (only_last) {
    text = absl::StrCat("\r", lines.back(), kToLineEnd);
  } else {
    text = ToBegin(columns);
    for (size_t i = 0; i + 1 < lines.size(); ++i) {
      absl::StrAppend(&text, lines[i], kToLineEnd, "\n");
    }
    absl::StrAppend(&text, lines.back(), kToScreenEnd);
  }
  lines_ = std::move(lines);
  columns_ = columns;
  return text;
}

std::string LiveBlock::Erase(int columns) {
  if (lines_.empty()) return "";
  std::string text = ToBegin(columns);
  absl::StrAppend(&text, text.size() > 1 ? kToScreenEnd : kToLineEnd);
  lines_.clear();
  return text;
}

}  // namespace edgekiln::client
