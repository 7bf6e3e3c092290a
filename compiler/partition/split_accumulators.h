#ifndef EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_
#define EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

struct SplitOps {
  // Of each op of the graph, as it is now: its index before. Twice the same
  // where an op was split: its sums, then the Requantize.
  std::vector<int32_t> origin;
  // Ops that stay as they are, since their sums cannot be had, and why.
  std::map<int32_t, std::string> refused;
};

// For ops, by index, whose engine gives int32 sums only: puts a Requantize
// behind each (passes/split_requantization.h), an op of its own with a place
// and a reason of its own. `graph` has been verified; its tensors keep their
// ids. Indices are each given once.
absl::StatusOr<SplitOps> SplitAccumulators(Graph& graph,
                                           absl::Span<const int32_t> ops);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_
