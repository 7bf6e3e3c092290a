#include "compiler/codegen/firmware/stack_frames.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"

namespace edgekiln::compiler {

const StackFrame* StackFrames::Find(absl::string_view function) const {
  const auto found = by_function.find(function);
  return found == by_function.end() ? nullptr : &found->second;
}

absl::StatusOr<StackFrames> ReadStackFrames(absl::string_view text) {
  StackFrames frames;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    const std::vector<absl::string_view> place = absl::StrSplit(fields[0], ':');
    int64_t bytes = 0;
    if (fields.size() != 3 || place.size() < 3 ||
        absl::StrContains(line, '"') || !absl::SimpleAtoi(fields[1], &bytes) ||
        bytes < 0) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.reason = "STACK_USAGE_MALFORMED",
                        .what = "malformed list of stack frames",
                        .where = absl::StrCat("line '", line, "'")});
    }
    frames.file = std::string(place[0]);
    frames.by_function[std::string(place.back())] = {std::string(fields[1]),
                                                     std::string(fields[2])};
  }
  return frames;
}

std::string CallGraphText(const FramesByTitle& functions,
                          const std::vector<CallEdge>& calls, int extra_bytes) {
  std::string graph;
  for (const auto& [title, frame] : functions) {
    absl::StrAppend(&graph, "node: { title: \"", title, "\" label: \"", title);
    int64_t bytes = 0;
    if (frame != nullptr && absl::SimpleAtoi(frame->bytes, &bytes)) {
      absl::StrAppend(&graph, "\\n", bytes + extra_bytes, " bytes (",
                      frame->kind, ")");
    }
    absl::StrAppend(&graph, "\" }\n");
  }
  std::set<std::pair<std::string, std::string>> edges;
  for (const auto& [from, to] : calls) {
    if (!edges.emplace(from, to).second) continue;
    absl::StrAppend(&graph, "edge: { sourcename: \"", from, "\" targetname: \"",
                    to, "\" }\n");
  }
  return graph;
}

}  // namespace edgekiln::compiler
