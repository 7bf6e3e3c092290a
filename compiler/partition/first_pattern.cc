#include "compiler/partition/first_pattern.h"

#include "compiler/partition/split_accumulators.h"

namespace edgekiln::compiler {

const v1::OpPattern* FirstPattern(const Graph& graph, int32_t op,
                                  const v1::Capabilities& capabilities,
                                  const PatternMatcher& matcher) {
  for (int32_t e = 0; e < capabilities.engines_size(); ++e) {
    const Match match = matcher.MatchChain(op, e);
    if (match.ops.empty() ||
        (match.split == OpSplit::kSums &&
         !WhyNoAccumulator(graph, graph.ops[op]).empty())) {
      continue;
    }
    return &capabilities.engines(e).patterns(match.pattern);
  }
  return nullptr;
}

}  // namespace edgekiln::compiler
