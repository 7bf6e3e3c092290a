#include "tests/chips/smallest_scratchpad.h"

#include <algorithm>

#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {

int64_t SmallestScratchpad(const ChipCase& chip, const compiler::Graph& graph,
                           const v1::TileRecipe& recipe) {
  int64_t smallest = 0;
  for (int64_t need = 1; need > 0; smallest = std::max(smallest, need)) {
    need = SmallestSramOf(
        CompileQuantized(graph, chip.target(std::max<int64_t>(need, 1)), recipe)
            .status());
  }
  return smallest;
}

}  // namespace edgekiln::tests
