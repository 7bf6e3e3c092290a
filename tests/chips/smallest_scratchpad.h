#ifndef EK_TESTS_CHIPS_SMALLEST_SCRATCHPAD_H_
#define EK_TESTS_CHIPS_SMALLEST_SCRATCHPAD_H_

#include <cstdint>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {

// Bytes that the whole graph needs; each subgraph asks for its own.
int64_t SmallestScratchpad(const ChipCase& chip, const compiler::Graph& graph,
                           const v1::TileRecipe& recipe = v1::TileRecipe());

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_SMALLEST_SCRATCHPAD_H_
