#include "compiler/codegen/c/strided_copy.h"

#include "compiler/codegen/c/emit_common.h"

namespace edgekiln::compiler {
namespace {

std::vector<ops::StridedLoop> Joined(
    const std::vector<ops::StridedLoop>& loops) {
  std::vector<ops::StridedLoop> joined;
  for (const ops::StridedLoop& loop : loops) {
    if (loop.extent == 1) continue;
    if (!joined.empty() && joined.back().step == loop.step * loop.extent) {
      joined.back() = {joined.back().extent * loop.extent, loop.step};
    } else {
      joined.push_back(loop);
    }
  }
  return joined;
}

}  // namespace

void EmitStridedCopy(CodeWriter& code, const std::string& from, int64_t first,
                     std::vector<ops::StridedLoop> loops,
                     const std::string& to) {
  loops = Joined(loops);
  std::vector<int64_t> extents;
  std::vector<int64_t> steps;
  for (const ops::StridedLoop& loop : loops) {
    extents.push_back(loop.extent);
    steps.push_back(loop.step);
  }
  const std::vector<int64_t> out = ops::RowMajorSteps(extents);
  const int opened = OpenLoops(code, extents);
  code.Line(to, "[", IndexOf(extents, out), "] = ", from, "[", first, " + ",
            IndexOf(extents, steps), "];");
  CloseLoops(code, opened);
}

}  // namespace edgekiln::compiler
