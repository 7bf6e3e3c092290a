#include "base/wrap_help.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace edgekiln {

std::string WrapHelp(const std::string& text) {
  constexpr size_t kWidth = 48;
  std::string out;
  size_t column = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    absl::StrAppend(&out, word);
    column += word.size();
  }
  return out;
}

}  // namespace edgekiln
