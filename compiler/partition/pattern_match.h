#ifndef EK_COMPILER_PARTITION_PATTERN_MATCH_H_
#define EK_COMPILER_PARTITION_PATTERN_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// What an engine answers about the ops that begin with one of them.
struct Match {
  // The chain: indices into graph.ops, rising. Neighbours in the graph, which
  // need not be neighbours in this list. Empty if the engine takes nothing.
  std::vector<int32_t> ops;
  // If so, for each pattern of this kind of op the condition that failed, as
  // users read it: "kernels up to 7 (here 9x9)". What is of this layer only
  // stands in parentheses, so that reports can count layers with one reason.
  // Empty if the engine has no such pattern.
  std::vector<std::string> failed;
};

// By the engine's patterns, of which the first that takes the op counts. A
// pattern is one op.
Match MatchChain(const Graph& graph, int32_t first,
                 const v1::Capabilities::Engine& engine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PATTERN_MATCH_H_
