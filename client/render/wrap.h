#ifndef EK_CLIENT_RENDER_WRAP_H_
#define EK_CLIENT_RENDER_WRAP_H_

// Sentences in the window: broken between words, the lines below the first one
// indented. Pure.

#include <string>

#include "absl/strings/string_view.h"
#include "client/render/text.h"

namespace edgekiln::client {

// A word that is wider than the window.
enum class LongWord {
  kSplit,  // Goes on in the next line.
  kWhole,  // Has a line of its own, which the terminal breaks: paths and
           // commands that are copied from there.
};

// `text`, one line that is clean but for colours of Style, in lines as wide as
// `style` allows. Lines below the first one begin with `indent` spaces; of the
// first one as much stays together. A number stays with its groups of digits
// and its unit, and what is between three spaces stays in one line if one has
// room for it. No line end at the end.
std::string Wrapped(absl::string_view text, int indent, const Style& style,
                    LongWord long_word = LongWord::kSplit);

// "label      text\n", the text from the 13th column on, also in the lines
// below the first one. `text` as above.
std::string Labelled(absl::string_view label, absl::string_view text,
                     const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_WRAP_H_
