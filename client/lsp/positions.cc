#include "client/lsp/positions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace edgekiln::client::lsp {
namespace {

// Bytes between marks: no more than that is counted for a position.
constexpr size_t kMarkEvery = 256;

// Characters above U+FFFF, which have four bytes, are two units of UTF-16.
int UnitsOf(size_t bytes, Encoding encoding) {
  if (encoding == Encoding::kUtf8) return static_cast<int>(bytes);
  return bytes == 4 ? 2 : 1;
}

}  // namespace

size_t CharacterBytes(absl::string_view text, size_t offset) {
  const auto byte = [&](size_t at) {
    return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
  };
  const uint8_t first = byte(offset);
  size_t length = 1;
  if (first >= 0xC2 && first < 0xE0) length = 2;
  if (first >= 0xE0 && first < 0xF0) length = 3;
  if (first >= 0xF0 && first < 0xF5) length = 4;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(offset + i) & 0xC0) != 0x80) return 1;
  }
  return length;
}

LineIndex::LineIndex(absl::string_view text) : starts_{0} {
  bool ascii = true;
  for (size_t i = 0; i < text.size(); ++i) {
    ascii = ascii && static_cast<uint8_t>(text[i]) < 0x80;
    const bool crlf =
        text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (crlf || (text[i] != '\n' && text[i] != '\r')) continue;
    if (!ascii) MarkLine(text, starts_.back(), i);
    starts_.push_back(i + 1);
    ascii_.push_back(ascii);
    ascii = true;
  }
  if (!ascii) MarkLine(text, starts_.back(), text.size());
  ascii_.push_back(ascii);
}

void LineIndex::MarkLine(absl::string_view text, size_t begin, size_t end) {
  size_t next = begin + kMarkEvery;
  int units = 0;
  for (size_t at = begin; at < end;) {
    if (at >= next) {
      marks_.push_back({at, units});
      next = at + kMarkEvery;
    }
    const size_t bytes = CharacterBytes(text, at);
    units += UnitsOf(bytes, Encoding::kUtf16);
    at += bytes;
  }
}

Span LineIndex::Line(absl::string_view text, int line) const {
  const size_t index = static_cast<size_t>(std::clamp(line, 0, lines() - 1));
  Span span{starts_[index], text.size()};
  if (index + 1 == starts_.size()) return span;
  span.end = starts_[index + 1] - 1;
  if (text[span.end] == '\n' && span.end > span.begin &&
      text[span.end - 1] == '\r') {
    --span.end;
  }
  return span;
}

Position LineIndex::PositionOf(absl::string_view text, size_t offset,
                               Encoding encoding) const {
  offset = std::min(offset, text.size());
  const auto above = std::upper_bound(starts_.begin(), starts_.end(), offset);
  Position position{static_cast<int>(above - starts_.begin()) - 1, 0};
  const Span line = Line(text, position.line);
  const size_t end = std::min(offset, line.end);
  if (IsAscii(position.line)) {
    position.character = static_cast<int>(end - line.begin);
    return position;
  }
  size_t at = line.begin;
  const auto after = std::upper_bound(
      marks_.begin(), marks_.end(), end,
      [](size_t offset, const Mark& mark) { return offset < mark.offset; });
  if (after != marks_.begin() && std::prev(after)->offset > line.begin) {
    const Mark& mark = *std::prev(after);
    at = mark.offset;
    position.character = encoding == Encoding::kUtf8
                             ? static_cast<int>(at - line.begin)
                             : mark.units;
  }
  while (at < end) {
    const size_t bytes = CharacterBytes(text, at);
    // Inside of a character: its beginning.
    if (at + bytes > end) break;
    position.character += UnitsOf(bytes, encoding);
    at += bytes;
  }
  return position;
}

size_t LineIndex::OffsetOf(absl::string_view text, Position position,
                           Encoding encoding) const {
  if (position.line < 0) return 0;
  if (position.line >= lines()) return text.size();
  const Span line = Line(text, position.line);
  size_t at = line.begin;
  int left = position.character;
  if (IsAscii(position.line)) {
    return at + std::min<size_t>(std::max(left, 0), line.end - line.begin);
  }
  while (at < line.end && left > 0) {
    const size_t bytes = CharacterBytes(text, at);
    left -= UnitsOf(bytes, encoding);
    // Inside of a character: its beginning.
    if (left < 0) break;
    at += bytes;
  }
  return at;
}

}  // namespace edgekiln::client::lsp
