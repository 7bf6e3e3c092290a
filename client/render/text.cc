#include "client/render/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/code_points.h"

namespace edgekiln::client {
namespace {

std::string Clean(absl::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = CodePointAt(text, at);
    const bool line = keep_lines && (text[at] == '\n' || text[at] == '\t');
    if (point.bytes == 0 || (IsControl(point.value) && !line)) {
      out += '?';
    } else {
      out.append(text.data() + at, point.bytes);
    }
    at += std::max(point.bytes, 1);
  }
  return out;
}

// The longest beginning of clean text that takes at most `width` columns.
absl::string_view FirstColumns(absl::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = CodePointAt(text, at);
    width -= ColumnsOf(point.value);
    if (width < 0) break;
    at += std::max(point.bytes, 1);
  }
  return text.substr(0, at);
}

// The longest end that does.
absl::string_view LastColumns(absl::string_view text, int width) {
  const int dropped = TextWidth(text) - width;
  if (dropped <= 0) return text;
  size_t at = 0;
  int columns = 0;
  while (at < text.size()) {
    const CodePoint point = CodePointAt(text, at);
    // A mark belongs to the character before it.
    const int own = ColumnsOf(point.value);
    if (columns >= dropped && own > 0) break;
    columns += own;
    at += std::max(point.bytes, 1);
  }
  return text.substr(at);
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
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = CodePointAt(text, at);
    width += ColumnsOf(point.value);
    at += std::max(point.bytes, 1);
  }
  return width;
}

std::string ClipMiddle(absl::string_view text, int width) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width < 5) return ClipEnd(text, width);
  const int tail = (width - 3) / 2;
  return absl::StrCat(FirstColumns(text, width - 3 - tail), "...",
                      LastColumns(text, tail));
}

std::string ClipEnd(absl::string_view text, int width) {
  return std::string(FirstColumns(text, std::max(width, 0)));
}

std::string Style::Wrap(absl::string_view code, absl::string_view text) const {
  if (!options_.colours || text.empty()) return std::string(text);
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

}  // namespace edgekiln::client
