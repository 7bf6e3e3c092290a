#include "tests/conformance_onnx/skip_list.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace edgekiln::tests {

absl::StatusOr<std::map<std::string, std::string>> ParseSkipList(
    absl::string_view text) {
  std::map<std::string, std::string> reasons;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    if (colon == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("no reason: ", line));
    }
    if (!reasons
             .emplace(std::string(line.substr(0, colon)),
                      std::string(line.substr(colon + 2)))
             .second) {
      return absl::InvalidArgumentError(absl::StrCat("twice: ", line));
    }
  }
  return reasons;
}

}  // namespace edgekiln::tests
