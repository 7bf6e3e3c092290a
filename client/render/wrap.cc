#include "client/render/wrap.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/render/code_points.h"

namespace edgekiln::client {
namespace {

// What a number is not parted from.
constexpr absl::string_view kUnits[] = {"%",   "B",      "KiB",  "MiB", "GiB",
                                        "ms",  "s",      "Hz",   "kHz", "MHz",
                                        "GHz", "cycles", "MACs", "min"};

// Between parts that had better stay whole: "flash 1 KiB   ram 2 KiB".
constexpr absl::string_view kPartGap = "   ";

// Bytes of the colour that starts at `text[at]`, 0 if none does.
size_t ColourAt(absl::string_view text, size_t at) {
  if (text.substr(at, 2) != "\x1b[") return 0;
  const size_t end = text.find('m', at);
  return end == absl::string_view::npos ? 0 : end + 1 - at;
}

// Calls `each` with the parts that stay together: colours with 0 columns, and
// code points.
template <typename Each>
void ForEachPart(absl::string_view text, const Each& each) {
  for (size_t at = 0; at < text.size();) {
    size_t bytes = ColourAt(text, at);
    int columns = 0;
    if (bytes == 0) {
      const CodePoint point = CodePointAt(text, at);
      bytes = static_cast<size_t>(std::max(point.bytes, 1));
      columns = ColumnsOf(point.value);
    }
    each(text.substr(at, bytes), columns);
    at += bytes;
  }
}

int ShownWidth(absl::string_view text) {
  int width = 0;
  ForEachPart(text, [&](absl::string_view, int columns) { width += columns; });
  return width;
}

bool IsUnit(absl::string_view word) {
  while (!word.empty() && absl::string_view(",;:.)").find(word.back()) !=
                              absl::string_view::npos) {
    word.remove_suffix(1);
  }
  return std::find(std::begin(kUnits), std::end(kUnits), word) !=
         std::end(kUnits);
}

// Whether the line may end before the spaces [at, next).
bool MayBreak(absl::string_view text, size_t at, size_t next) {
  if (next - at > 1 || at == 0 || next >= text.size()) return true;
  if (!absl::ascii_isdigit(static_cast<unsigned char>(text[at - 1]))) {
    return true;
  }
  if (absl::ascii_isdigit(static_cast<unsigned char>(text[next]))) return false;
  return !IsUnit(text.substr(next, text.find(' ', next) - next));
}

class Wrapper {
 public:
  Wrapper(int indent, int window, LongWord long_word)
      : indent_(indent), window_(window), long_word_(long_word) {}

  // `spaces` are left out where a line begins. `together`: columns of the word
  // and of what follows and should be in the same line, if one has room for it.
  void Add(absl::string_view spaces, absl::string_view word, int together) {
    const int gap = static_cast<int>(spaces.size());
    const int width = ShownWidth(word);
    const int wanted = together <= window_ - indent_ ? together : width;
    if (column_ > indent_ && column_ + gap + wanted > window_) {
      NewLine();
    } else {
      out_.append(spaces.data(), spaces.size());
      column_ += gap;
    }
    if (long_word_ == LongWord::kWhole || column_ + width <= window_) {
      out_.append(word.data(), word.size());
      column_ += width;
      return;
    }
    ForEachPart(word, [&](absl::string_view part, int columns) {
      if (column_ + columns > window_ && column_ > indent_) NewLine();
      out_.append(part.data(), part.size());
      column_ += columns;
    });
  }

  std::string Take() { return std::move(out_); }

 private:
  void NewLine() {
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_), ' ');
    column_ = indent_;
  }

  const int indent_;
  const int window_;
  const LongWord long_word_;
  int column_ = 0;
  std::string out_;
};

}  // namespace

std::string Wrapped(absl::string_view text, int indent, const Style& style,
                    LongWord long_word) {
  const int window = style.width();
  if (window <= 0 || ShownWidth(text) <= window) return std::string(text);
  // Something must fit beside the indentation.
  constexpr int kLeast = 6;
  Wrapper wrapper(std::clamp(window - kLeast, 0, indent), window, long_word);
  size_t spaces = 0;
  while (spaces < text.size()) {
    size_t begin = std::min(text.find_first_not_of(' ', spaces), text.size());
    size_t end = begin;
    while (true) {
      end = std::min(text.find(' ', end), text.size());
      const size_t next =
          std::min(text.find_first_not_of(' ', end), text.size());
      if (end == text.size() || MayBreak(text, end, next)) break;
      end = next;
    }
    const absl::string_view word = text.substr(begin, end - begin);
    const bool opens_part = begin - spaces >= kPartGap.size();
    const absl::string_view part =
        text.substr(begin, text.find(kPartGap, begin) - begin);
    wrapper.Add(text.substr(spaces, begin - spaces), word,
                ShownWidth(opens_part ? part : word));
    spaces = end;
  }
  return wrapper.Take();
}

std::string Labelled(absl::string_view label, absl::string_view text,
                     const Style& style) {
  constexpr int kIndent = 12;
  const int pad = std::max(1, kIndent - TextWidth(label));
  return absl::StrCat(
      Wrapped(absl::StrCat(style.Bold(label), std::string(pad, ' '), text),
              kIndent, style),
      "\n");
}

}  // namespace edgekiln::client
