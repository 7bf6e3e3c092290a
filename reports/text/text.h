#ifndef EK_REPORTS_TEXT_TEXT_H_
#define EK_REPORTS_TEXT_TEXT_H_

// Numbers, names and columns for people. Pure functions.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// "1 234 567".
std::string GroupDigits(int64_t value);
// "0.3576 ms", "21.98 s": four digits, seconds from ten on.
std::string LatencyText(double milliseconds);
// "61.0 %" for 0.61. Not a number: "-".
std::string FormatPercent(double fraction, int digits);
// "0.2 ms", "12.3 ms", "1.23 s", "2 min 05 s", "1 h 02 min".
std::string FormatTimeSpan(absl::Duration duration);
// "(78.6 to 86.8 %)": between which bounds a share lies.
std::string IntervalText(const v1::AccuracyInterval& interval);
// "exact", "cycle-approximate", "estimate".
std::string FidelityText(v1::Fidelity fidelity);
// "100 MHz", "1.5 GHz".
std::string FormatFrequency(int64_t hz);
// "layer" for 1, "layers" otherwise, with the number in front.
std::string Count(int64_t count, absl::string_view singular,
                  absl::string_view plural);

// Names come out of models and from the network: control characters (terminal
// escapes among them) and invalid UTF-8 become '?'.
std::string CleanText(absl::string_view text);
// As CleanText(), keeping line ends and tabs.
std::string CleanLines(absl::string_view text);
// Columns that `text`, clean, takes on a terminal: two for East Asian wide
// characters and emoji, none for combining marks, one for all others.
int TextWidth(absl::string_view text);
// `text` with its middle replaced by "..." so that it is at most `width` wide.
// Names differ at their ends more often than in the middle.
std::string ClipMiddle(absl::string_view text, int width);
// `text` cut so that it is at most `width` wide.
std::string ClipEnd(absl::string_view text, int width);
// `text`, clean, in lines at most `width` wide, 0: one line. Broken at spaces,
// but not between the digits of a number or before its unit; a longer word is
// broken anywhere. Never empty.
std::vector<std::string> WrapWords(absl::string_view text, int width);

// How wide and colourful the output may be: ANSI colours and the width of the
// window on a terminal, neither elsewhere.
class Style {
 public:
  static Style Plain() { return Style(false, nullptr); }
  static Style Coloured() { return Style(true, nullptr); }
  // `width` is asked for each time: people resize windows. NO_COLOR asks a
  // terminal for no colours.
  static Style Terminal(std::function<int()> width, bool coloured = true) {
    return Style(coloured, std::move(width));
  }
  static Style Terminal(int width) {
    return Terminal([width] { return width; });
  }

  // The same colours for a window of `width` columns.
  Style WithWidth(int width) const {
    return Style(on_, [width] { return width; });
  }

  int width() const { return width_ ? width_() : 0; }  // Columns; 0: no limit.

  std::string Bold(absl::string_view text) const;
  std::string Dim(absl::string_view text) const;
  std::string Red(absl::string_view text) const;
  std::string Green(absl::string_view text) const;
  std::string Yellow(absl::string_view text) const;

 private:
  Style(bool on, std::function<int()> width)
      : on_(on), width_(std::move(width)) {}
  std::string Wrap(absl::string_view code, absl::string_view text) const;

  bool on_;
  std::function<int()> width_;
};

}  // namespace edgekiln

#endif  // EK_REPORTS_TEXT_TEXT_H_
