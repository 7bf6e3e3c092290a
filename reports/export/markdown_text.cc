#include "reports/export/markdown_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "reports/text/text.h"

namespace edgekiln {

std::string MarkdownText(absl::string_view text) {
  std::string out;
  for (const char c : CleanText(text)) {
    if (absl::StrContains("\\`*_{}[]<>()#+-!|~@&:", absl::string_view(&c, 1))) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string MarkdownCode(absl::string_view text) {
  std::string clean = CleanText(text);
  if (clean.empty()) return "-";
  size_t longest = 0;
  size_t run = 0;
  for (const char c : clean) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  // The fence is longer than any run of backticks inside.
  const std::string fence(longest + 1, '`');
  const absl::string_view pad = longest > 0 ? " " : "";
  return absl::StrCat(fence, pad, absl::StrReplaceAll(clean, {{"|", "\\|"}}),
                      pad, fence);
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

}  // namespace edgekiln
