#include "tests/conformance_onnx/operator_list.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace edgekiln::tests {

absl::StatusOr<std::vector<OperatorLine>> ParseOperatorList(
    absl::string_view text) {
  std::vector<OperatorLine> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    const std::vector<std::string> head = absl::StrSplit(parts.first, ' ');
    OperatorLine entry;
    entry.note = std::string(parts.second);
    if (head.size() != 2 || !absl::SimpleAtoi(head[1], &entry.since)) {
      return absl::InvalidArgumentError(
          absl::StrCat("not an operator: ", line));
    }
    entry.name = head[0];
    lines.push_back(std::move(entry));
  }
  return lines;
}

}  // namespace edgekiln::tests
