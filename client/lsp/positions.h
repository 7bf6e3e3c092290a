#ifndef EK_CLIENT_LSP_POSITIONS_H_
#define EK_CLIENT_LSP_POSITIONS_H_

// Lines and characters, as editors count, and offsets of bytes, as we do.

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"

namespace edgekiln::client::lsp {

// What `Position::character` counts.
enum class Encoding { kUtf8, kUtf16 };

// From 0.
struct Position {
  int line = 0;
  int character = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

// Half-open.
struct Range {
  Position start;
  Position end;

  friend bool operator==(const Range&, const Range&) = default;
};

// Bytes of a text, half-open.
struct Span {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin >= end; }
  absl::string_view In(absl::string_view text) const {
    return text.substr(begin, end - begin);
  }
  friend bool operator==(const Span&, const Span&) = default;
};

// Where the lines of a text begin. They end with \n, \r\n or \r. Every function
// takes the text that the index was made of; positions beyond the end of a line
// or of the text stand for that end. Bytes that are not UTF-8 count as one
// character each.
class LineIndex {
 public:
  LineIndex() : LineIndex(absl::string_view()) {}
  explicit LineIndex(absl::string_view text);

  Position PositionOf(absl::string_view text, size_t offset,
                      Encoding encoding) const;
  size_t OffsetOf(absl::string_view text, Position position,
                  Encoding encoding) const;
  Range RangeOf(absl::string_view text, Span span, Encoding encoding) const {
    return {PositionOf(text, span.begin, encoding),
            PositionOf(text, span.end, encoding)};
  }

  int lines() const { return static_cast<int>(starts_.size()); }
  // Without its line end; the last line for higher numbers.
  Span Line(absl::string_view text, int line) const;

 private:
  // A character of a line that is not ASCII: where it begins, and how many
  // units of UTF-16 of the line are before it.
  struct Mark {
    size_t offset = 0;
    int units = 0;
  };
  void MarkLine(absl::string_view text, size_t begin, size_t end);

  bool IsAscii(int line) const { return ascii_[static_cast<size_t>(line)]; }

  std::vector<size_t> starts_;
  std::vector<bool> ascii_;  // By line: a character is a byte.
  std::vector<Mark> marks_;  // Every kMarkEvery bytes of long lines, in order.
};

// Bytes of the character that begins at `offset`: 1 to 4; 1 for what is not
// UTF-8. `offset` is below the size of `text`.
size_t CharacterBytes(absl::string_view text, size_t offset);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_POSITIONS_H_
