#include "tests/goldens/tap_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "compiler/ir/image_extent.h"

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

std::vector<Run> RunsOf(const compiler::Tensor& tensor,
                        const v1::Program::Tap& tap) {
  const compiler::ImageExtent extent = compiler::ImageExtentOf(tensor.shape);
  const v1::TensorSlice& slice = tap.slice();
  std::vector<Run> runs;
  for (int64_t h = slice.h_begin(); h < slice.h_end(); ++h) {
    for (int64_t w = slice.w_begin(); w < slice.w_end(); ++w) {
      Append(
          {.element = (h * extent.w + w) * extent.c + slice.c_begin(),
           .elements = slice.c_end() - slice.c_begin(),
           .address = tap.location().address() +
                      (h - slice.h_begin()) * tap.layout().row_pitch_bytes() +
                      (w - slice.w_begin()) * tap.layout().pixel_pitch_bytes()},
          compiler::ElementBytes(tensor.type), runs);
    }
  }
  return runs;
}

}  // namespace

std::string TapText(const compiler::Graph& graph, const v1::Program::Tap& tap) {
  std::string list;
  int64_t elements = 0;
  for (const Run& run : RunsOf(graph.tensors[tap.tensor()], tap)) {
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
