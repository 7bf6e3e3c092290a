#include "client/render/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace edgekiln::client {
namespace {

// Length of the UTF-8 sequence that starts at `text[at]`, 0 if it is invalid.
int SequenceLength(absl::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4) return 0;
  if (at + length > text.size()) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;   // Overlong.
  if (lead == 0xED && second >= 0xA0) return 0;  // Surrogate.
  if (lead == 0xF0 && second < 0x90) return 0;   // Overlong.
  if (lead == 0xF4 && second >= 0x90) return 0;  // Above U+10FFFF.
  return length;
}

std::string Clean(absl::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const int length = SequenceLength(text, at);
    const unsigned char lead = static_cast<unsigned char>(text[at]);
    const bool line = keep_lines && (lead == '\n' || lead == '\t');
    // C1 controls (U+0080..U+009F) move the cursor on some terminals too.
    const bool control =
        length == 1 ? (lead < 0x20 || lead == 0x7F)
                    : (length == 2 && lead == 0xC2 &&
                       static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || (control && !line)) {
      out += '?';
    } else {
      out.append(text.data() + at, length);
    }
    at += std::max(length, 1);
  }
  return out;
}

// The first `count` code points of clean text.
absl::string_view FirstPoints(absl::string_view text, int count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) {
    at += std::max(SequenceLength(text, at), 1);
  }
  return text.substr(0, at);
}

}  // namespace

std::string GroupDigits(int64_t value) {
  const std::string digits = absl::StrCat(value);
  const size_t sign = value < 0 ? 1 : 0;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) out += ' ';
    out += digits[i];
  }
  return out;
}

std::string FormatPercent(double fraction, int digits) {
  if (!std::isfinite(fraction)) return "-";
  return absl::StrFormat("%.*f %%", digits, fraction * 100);
}

std::string IntervalText(const v1::AccuracyInterval& interval) {
  return absl::StrFormat("(%.1f to %.1f %%)", interval.low() * 100,
                         interval.high() * 100);
}

std::string FidelityText(v1::Fidelity fidelity) {
  std::string name = absl::AsciiStrToLower(v1::Fidelity_Name(fidelity));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string FormatTimeSpan(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0.1) return absl::StrFormat("%.1f ms", seconds * 1e3);
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 9.995) return absl::StrFormat("%.2f s", seconds);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) {
    return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatFrequency(int64_t hz) {
  if (hz >= 1'000'000'000) return absl::StrFormat("%.6g GHz", hz / 1e9);
  if (hz >= 1'000'000) return absl::StrFormat("%.6g MHz", hz / 1e6);
  if (hz >= 1'000) return absl::StrFormat("%.6g kHz", hz / 1e3);
  return absl::StrCat(hz, " Hz");
}

std::string Count(int64_t count, absl::string_view singular,
                  absl::string_view plural) {
  return absl::StrCat(GroupDigits(count), " ", count == 1 ? singular : plural);
}

std::string CleanText(absl::string_view text) { return Clean(text, false); }

std::string CleanLines(absl::string_view text) { return Clean(text, true); }

int TextWidth(absl::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size(); ++width) {
    at += std::max(SequenceLength(text, at), 1);
  }
  return width;
}

std::string ClipMiddle(absl::string_view text, int width) {
  const int have = TextWidth(text);
  if (have <= width) return std::string(text);
  if (width < 5) return ClipEnd(text, width);
  const int tail = (width - 3) / 2;
  const int head = width - 3 - tail;
  const absl::string_view rest =
      text.substr(FirstPoints(text, have - tail).size());
  return absl::StrCat(FirstPoints(text, head), "...", rest);
}

std::string ClipEnd(absl::string_view text, int width) {
  return std::string(FirstPoints(text, std::max(width, 0)));
}

std::string Style::Wrap(absl::string_view code, absl::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

std::string Style::Bold(absl::string_view text) const {
  return Wrap("1", text);
}
std::string Style::Dim(absl::string_view text) const { return Wrap("2", text); }
std::string Style::Red(absl::string_view text) const {
  return Wrap("1;31", text);
}
std::string Style::Green(absl::string_view text) const {
  return Wrap("32", text);
}
std::string Style::Yellow(absl::string_view text) const {
  return Wrap("33", text);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = CleanText(cell);
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::FittingWidths(int window) const {
  constexpr int kNarrowest = 12;
  std::vector<int> widths;
  int excess = 2 * static_cast<int>(columns_.size() - 1) - window;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = TextWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, TextWidth(row[c]));
    widths.push_back(width);
    excess += width;
  }
  for (; window > 0 && excess > 0; --excess) {
    int widest = -1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align != Align::kLeft || columns_[c].whole ||
          widths[c] <= kNarrowest) {
        continue;
      }
      if (widest < 0 || widths[c] > widths[widest])
        widest = static_cast<int>(c);
    }
    if (widest < 0) break;
    --widths[widest];
  }
  return widths;
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
  const std::vector<int> widths = FittingWidths(style.width());
  bool titled = false;
  std::vector<std::string> lines(rows_.size() + 1);
  for (size_t c = 0; c < columns_.size(); ++c) {
    titled |= !columns_[c].title.empty();
    std::vector<std::string> cells = ClippedColumn(c, widths[c]);
    cells.insert(cells.begin(), columns_[c].title);
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(std::max(0, widths[c] - TextWidth(cells[i])), ' ');
      const bool right = columns_[c].align == Align::kRight;
      absl::StrAppend(&lines[i], c > 0 ? "  " : "", right ? pad : cells[i],
                      right ? cells[i] : pad);
    }
  }
  std::string out;
  for (size_t i = titled ? 0 : 1; i < lines.size(); ++i) {
    lines[i].erase(lines[i].find_last_not_of(' ') + 1);
    absl::StrAppend(&out, i == 0 ? style.Bold(lines[i]) : lines[i], "\n");
  }
  return out;
}

}  // namespace edgekiln::client
