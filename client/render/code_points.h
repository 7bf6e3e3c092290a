#ifndef EK_CLIENT_RENDER_CODE_POINTS_H_
#define EK_CLIENT_RENDER_CODE_POINTS_H_

// UTF-8 as a terminal shows it. Pure functions.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace edgekiln::client {

struct CodePoint {
  uint32_t value = 0;
  int bytes = 0;  // 0: not valid UTF-8.
};

// The code point that starts at `text[at]`; `at` is within `text`.
CodePoint CodePointAt(absl::string_view text, size_t at);

// Columns of a code point: 0 (combining), 1 or 2 (East Asian, emoji). Symbols
// that some terminals show in two columns count as two.
int ColumnsOf(uint32_t code_point);

// Control characters, and those that change the direction or the order of the
// text around them or take no room.
bool IsControl(uint32_t code_point);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_CODE_POINTS_H_
