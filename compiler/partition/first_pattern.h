#ifndef EK_COMPILER_PARTITION_FIRST_PATTERN_H_
#define EK_COMPILER_PARTITION_FIRST_PATTERN_H_

#include <cstdint>

#include "compiler/ir/graph.h"
#include "compiler/partition/pattern_match.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The first pattern of the first engine that takes the op, alone or with those
// behind it, or its first half; null if none does. `matcher` is of the graph
// and the capabilities.
const v1::OpPattern* FirstPattern(const Graph& graph, int32_t op,
                                  const v1::Capabilities& capabilities,
                                  const PatternMatcher& matcher);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_FIRST_PATTERN_H_
