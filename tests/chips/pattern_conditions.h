#ifndef EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_
#define EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_

// What an engine demands of an op, told once more: for each condition a layer
// that breaks it and nothing else, and what the refusal must say.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {

// The sizes of one layer. `channels` are those of the output; of a depthwise
// convolution, what each channel is multiplied by. Pools and additions have
// none; a fully connected layer has `w` rows.
struct LayerSizes {
  int64_t batch = 1, h = 1, w = 1, c = 1;
  int64_t channels = 1;
  WindowCase window;
};

// Sizes within the pattern's limits, small where it has none.
LayerSizes RandomSizes(const v1::OpPattern& pattern, Rng& rng);

// A graph of that one layer, which the pattern takes if the sizes are within
// its limits.
compiler::Graph LayerOf(const v1::OpPattern& pattern, const LayerSizes& sizes,
                        QuantizedGraphBuilder& builder);

struct PatternCondition {
  const char* name;
  // The field of the pattern that makes the condition, and lifts it when set to
  // true or 0; "" if no chip can do without.
  const char* field;
  bool (*applies)(const v1::OpPattern& pattern);
  // Puts the layer outside the limit; absent if it is not about sizes.
  void (*enlarge)(const v1::OpPattern& pattern, LayerSizes& sizes, Rng& rng);
  // Spoils what is not a size; absent likewise.
  void (*spoil)(const v1::OpPattern& pattern, compiler::Graph& graph, Rng& rng);
  // What the refusal must contain.
  std::string (*says)(const v1::OpPattern& pattern);
};

void PrintTo(const PatternCondition& condition, std::ostream* out);

const std::vector<PatternCondition>& PatternConditions();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_PATTERN_CONDITIONS_H_
