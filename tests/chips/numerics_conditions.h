#ifndef EK_TESTS_CHIPS_NUMERICS_CONDITIONS_H_
#define EK_TESTS_CHIPS_NUMERICS_CONDITIONS_H_

// What an engine's arithmetic demands of an op, told once more: for each
// condition a layer that breaks it and nothing else, and what the refusal must
// say.

#include <iosfwd>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/chips/pattern_conditions.h"

namespace edgekiln::tests {

// A condition of the code: of numerics, or of how engines compute at all.
struct NumericsCondition {
  const char* name;
  // The field of Numerics that makes the condition; "" if no chip can do
  // without.
  const char* field;
  bool (*applies)(const v1::OpPattern& pattern);
  // Puts the layer outside by its sizes; absent if it is not about sizes.
  void (*enlarge)(const v1::OpPattern& pattern, LayerSizes& sizes);
  // Spoils what is not a size; absent likewise.
  void (*spoil)(const v1::OpPattern& pattern, compiler::Graph& graph, Rng& rng);
  // What the refusal must contain.
  std::string (*says)(const v1::OpPattern& pattern);
};

void PrintTo(const NumericsCondition& condition, std::ostream* out);

const std::vector<NumericsCondition>& NumericsConditions();

// The same pattern of a chip that can do little of it.
v1::OpPattern Tightened(v1::OpPattern pattern, Rng& rng);

// A chip that does not have the condition.
v1::OpPattern Lifted(v1::OpPattern pattern, const NumericsCondition& condition);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_NUMERICS_CONDITIONS_H_
