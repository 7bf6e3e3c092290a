#include "server/sweep/pattern.h"

#include <cstddef>

namespace edgekiln::server {

bool MatchesPattern(absl::string_view text, absl::string_view pattern) {
  size_t t = 0;
  size_t p = 0;
  // The last `*`, and up to where it stands for the text.
  size_t star = absl::string_view::npos;
  size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace edgekiln::server
