#ifndef EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_
#define EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_

// Layers for the patterns of an engine, and how to break what conditions say of
// their sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {

// The sizes of the first layer of a chain. `channels` are those of the output;
// of a depthwise convolution, what each channel is multiplied by. Pools and
// additions have none; a fully connected layer has `w` rows.
struct LayerSizes {
  int64_t batch = 1, h = 1, w = 1, c = 1;
  int64_t channels = 1;
  WindowCase window;
};

// One extent may be so large that the rest of the layer had better be small.
void Shrink(LayerSizes& sizes);
// Padding that a window needs to fit whatever there is.
void PadToFit(WindowCase& window);

// Small ones.
LayerSizes RandomSizes(const v1::OpPattern& pattern, Rng& rng);

// A graph of the pattern's ops, with numbers that its numerics allow.
compiler::Graph LayerOf(const v1::OpPattern& pattern, const LayerSizes& sizes,
                        QuantizedGraphBuilder& builder);

// Gives a variable of conditions, as "kernel_h" or "add_in_c", that value by
// other sizes, everything else small. False if sizes do not decide it.
bool SetVariable(const v1::OpPattern& pattern, const std::string& variable,
                 int64_t value, LayerSizes& sizes);

// Makes an attribute or a shape of the graph what no size is: groups, operands
// of two shapes. False if it is another variable.
bool SpoilVariable(const std::string& variable, compiler::Graph& graph);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_
