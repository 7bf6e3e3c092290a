#ifndef EK_CLIENT_RENDER_TEXT_H_
#define EK_CLIENT_RENDER_TEXT_H_

// Numbers and names for people. Pure functions.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// "1 234 567".
std::string GroupDigits(int64_t value);
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
// escapes and changes of the writing direction among them) and invalid UTF-8
// become '?'.
std::string CleanText(absl::string_view text);
// As CleanText(), keeping line ends and tabs.
std::string CleanLines(absl::string_view text);
// Columns that `text`, clean, takes: two for East Asian characters and emoji.
int TextWidth(absl::string_view text);
// `text` with its middle replaced by "..." so that it is at most `width` wide.
// Names differ at their ends more often than in the middle.
std::string ClipMiddle(absl::string_view text, int width);
// `text` cut so that it is at most `width` wide.
std::string ClipEnd(absl::string_view text, int width);

// How wide and colourful the output may be. Plain() is that of files and pipes:
// neither colours nor a limit, whatever the environment.
class Style {
 public:
  struct Options {
    bool colours = false;
    int width = 0;      // Columns; 0: no limit.
    bool utf8 = false;  // More than ASCII may be drawn.
  };
  static Style Plain() { return Style(Options()); }
  static Style Coloured() { return Style({.colours = true}); }
  static Style Terminal(int width) {
    return Style({.colours = true, .width = width});
  }
  static Style Of(const Options& options) { return Style(options); }

  int width() const { return options_.width; }
  bool utf8() const { return options_.utf8; }

  std::string Bold(absl::string_view text) const;
  std::string Dim(absl::string_view text) const;
  std::string Red(absl::string_view text) const;
  std::string Green(absl::string_view text) const;
  std::string Yellow(absl::string_view text) const;

 private:
  explicit Style(const Options& options) : options_(options) {}
  std::string Wrap(absl::string_view code, absl::string_view text) const;

  Options options_;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_TEXT_H_
