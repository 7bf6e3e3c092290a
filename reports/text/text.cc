#include "reports/text/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace edgekiln {
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

// The code point at the start of clean text.
uint32_t CodePoint(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  switch (SequenceLength(text, 0)) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 |
             (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default:
      return byte(0);
  }
}

struct Range {
  uint32_t first, last;
};

// Combining marks, joiners and variation selectors.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
// Wide and fullwidth of Unicode's EastAsianWidth.txt, in blocks.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x20000, 0x3FFFD}};

template <size_t kCount>
bool IsIn(const Range (&ranges)[kCount], uint32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const Range& r) {
    return r.first <= point && point <= r.last;
  });
}

// Of the first character of clean text: its bytes, and the columns it takes.
struct Character {
  size_t bytes;
  int columns;
};

Character First(absl::string_view text) {
  const size_t bytes = std::max(SequenceLength(text, 0), 1);
  const uint32_t point = CodePoint(text);
  if (point < 0x300) return {bytes, 1};
  return {bytes, IsIn(kZeroWidth, point) ? 0 : IsIn(kWide, point) ? 2 : 1};
}

// The longest beginning of clean text that is at most `width` wide.
absl::string_view Beginning(absl::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    const Character next = First(text.substr(at));
    width -= next.columns;
    if (width < 0) break;
    at += next.bytes;
  }
  return text.substr(0, at);
}

// The longest end that is at most `width` wide.
absl::string_view End(absl::string_view text, int width) {
  int excess = TextWidth(text) - width;
  size_t at = 0;
  while (at < text.size()) {
    const Character next = First(text.substr(at));
    // Marks go with the character before them.
    if (excess <= 0 && next.columns > 0) break;
    excess -= next.columns;
    at += next.bytes;
  }
  return text.substr(at);
}

// Whether a line may end before the space at `at`.
bool MayBreak(absl::string_view text, size_t at) {
  const bool digit = at > 0 && absl::ascii_isdigit(text[at - 1]);
  return !digit || at + 1 == text.size() ||
         !(absl::ascii_isalnum(text[at + 1]) || text[at + 1] == '%');
}

}  // namespace

std::string LatencyText(double milliseconds) {
  return milliseconds < 1e4 ? absl::StrFormat("%.4g ms", milliseconds)
                            : absl::StrFormat("%.4g s", milliseconds / 1e3);
}

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
  while (!text.empty()) {
    const Character next = First(text);
    width += next.columns;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string ClipMiddle(absl::string_view text, int width) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width < 5) return ClipEnd(text, width);
  const int tail = (width - 3) / 2;
  const int head = width - 3 - tail;
  return absl::StrCat(Beginning(text, head), "...", End(text, tail));
}

std::string ClipEnd(absl::string_view text, int width) {
  return std::string(Beginning(text, std::max(width, 0)));
}

std::vector<std::string> WrapWords(absl::string_view text, int width) {
  std::vector<std::string> lines;
  while (width > 0 && TextWidth(text) > width) {
    absl::string_view line = Beginning(text, width);
    // Nothing fits: a wide character in one column.
    if (line.empty()) line = text.substr(0, First(text).bytes);
    size_t end = 0;
    size_t any_space = 0;
    for (size_t at = line.size(); at > 0 && end == 0; --at) {
      if (at >= text.size() || text[at] != ' ') continue;
      if (any_space == 0) any_space = at;
      if (MayBreak(text, at)) end = at;
    }
    if (end == 0) end = any_space > 0 ? any_space : line.size();
    lines.emplace_back(absl::StripTrailingAsciiWhitespace(text.substr(0, end)));
    text = absl::StripLeadingAsciiWhitespace(text.substr(end));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
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

}  // namespace edgekiln
