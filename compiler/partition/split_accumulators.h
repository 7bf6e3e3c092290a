#ifndef EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_
#define EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Why the op's int32 sums cannot be had, as users read it; empty if they can.
std::string WhyNoAccumulator(const Graph& graph, const Op& op);

// Splits the ops with these indices, each given once, whose engines only give
// int32 sums (passes/split_requantization.h). Returns, for each op of the new
// graph, its index in the old one; both halves of a split op have the same.
// `graph` has been verified; its tensors keep their ids.
absl::StatusOr<std::vector<int32_t>> SplitAccumulators(
    Graph& graph, absl::Span<const int32_t> ops);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_SPLIT_ACCUMULATORS_H_
