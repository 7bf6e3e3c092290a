#include "tests/goldens/tap_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "target/layout.h"

namespace edgekiln::tests {
namespace {

struct Run {
  int64_t element = 0;
  int64_t elements = 0;
  uint64_t address = 0;
};

// Merges a run with the one before it where they meet in both orders.
void Append(const Run& next, int64_t element_bytes, std::vector<Run>& runs) {
  if (!runs.empty()) {
    Run& last = runs.back();
    if (last.element + last.elements == next.element &&
        last.address + last.elements * element_bytes == next.address) {
      last.elements += next.elements;
      return;
    }
  }
  runs.push_back(next);
}

using target::Layout;

// In dense order.
std::vector<Layout::Run> SortedRuns(const Layout& layout) {
  std::vector<Layout::Run> runs;
  layout.VisitRuns([&](const Layout::Run& run) {
    runs.push_back(run);
    return true;
  });
  std::sort(runs.begin(), runs.end(),
            [](const Layout::Run& a, const Layout::Run& b) {
              return a.dense_offset < b.dense_offset;
            });
  return runs;
}

// What lies together both in the tensor, `part` of which is shown, and in
// memory, where it lies as `shown` from `address` on.
std::vector<Run> RunsOf(const Layout& part, const Layout& shown,
                        uint64_t address) {
  const std::vector<Layout::Run> from = SortedRuns(part);
  std::vector<Run> runs;
  size_t next = 0;
  for (const Layout::Run& to : SortedRuns(shown)) {
    const int64_t end = to.dense_offset + to.bytes;
    for (int64_t at = to.dense_offset; at < end;) {
      while (from[next].dense_offset + from[next].bytes <= at) ++next;
      const int64_t into = at - from[next].dense_offset;
      const int64_t bytes = std::min(end - at, from[next].bytes - into);
      Append({.element = (from[next].offset + into) / part.element_bytes(),
              .elements = bytes / part.element_bytes(),
              .address = address + to.offset + at - to.dense_offset},
             part.element_bytes(), runs);
      at += bytes;
    }
  }
  return runs;
}

}  // namespace

absl::StatusOr<std::string> TapText(const compiler::Graph& graph,
                                    const v1::Program& program,
                                    const v1::Program::Tap& tap) {
  const compiler::Tensor& tensor = graph.tensors[tap.tensor()];
  EK_ASSIGN_OR_RETURN(const Layout part,
                      Layout::OfBox(tap.box(), tensor.shape,
                                    compiler::ElementBytes(tensor.type)));
  EK_ASSIGN_OR_RETURN(const Layout shown,
                      Layout::Create(program.layouts(tap.layout())));
  EK_RETURN_IF_ERROR(target::CheckBox(tap.box(), shown));
  std::string list;
  int64_t elements = 0;
  for (const Run& run : RunsOf(part, shown, tap.location().address())) {
    absl::StrAppend(&list, run.element, "+", run.elements, "@", run.address,
                    "\n");
    elements += run.elements;
  }
  return absl::StrCat(
      tap.stream() >= 0
          ? absl::StrCat("stream ", tap.stream(), " command ", tap.command())
          : absl::StrCat("step ", tap.step()),
      " tensor ", tap.tensor(), " memory ", tap.location().memory(), " at ",
      tap.location().address(), " elements ", elements, " runs ",
      DigestOf(list).hash.substr(0, 16), "\n");
}

}  // namespace edgekiln::tests
