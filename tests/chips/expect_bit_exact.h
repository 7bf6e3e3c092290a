#ifndef EK_TESTS_CHIPS_EXPECT_BIT_EXACT_H_
#define EK_TESTS_CHIPS_EXPECT_BIT_EXACT_H_

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::tests {

// The program, compiled by one of the target's recipes, on the simulated chip,
// checked and then fast: every value of every layer is the interpreter's,
// nothing is left out, every cycle belongs to a layer, and the compiler
// predicted how many there are. Reports through GoogleTest.
void ExpectBitExact(const compiler::Graph& graph,
                    const v1::ResolvedTarget& target,
                    const std::vector<std::string>& samples,
                    const v1::TileRecipe& recipe = v1::TileRecipe());

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_EXPECT_BIT_EXACT_H_
