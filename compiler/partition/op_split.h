#ifndef EK_COMPILER_PARTITION_OP_SPLIT_H_
#define EK_COMPILER_PARTITION_OP_SPLIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// Ops that become two for engines that run the first half only.
namespace edgekiln::compiler {

enum class OpSplit {
  kNone,
  kSums,   // Int32 sums, then a Requantize (split_accumulators.h).
  kClamp,  // The op with plain limits, then a Clip (passes/split_clamp.h).
};

// Splits ops as told for each. Returns, for each op of the new graph, its index
// in the old one; both halves of a split op have the same. `graph` has been
// verified; its tensors keep their ids.
absl::StatusOr<std::vector<int32_t>> SplitOps(Graph& graph,
                                              absl::Span<const OpSplit> splits);

// The inverse of a split that nothing was appended to since. Returns for each
// remaining op how it was split.
std::vector<OpSplit> JoinOps(Graph& graph);

// Of reasons, behind "ENGINE runs OP": " up to its int32 sums".
absl::string_view UpTo(OpSplit split);
// The kind of the second half: "requantize", "clip".
absl::string_view SecondHalf(OpSplit split);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_OP_SPLIT_H_
