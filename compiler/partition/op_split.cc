#include "compiler/partition/op_split.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/partition/split_accumulators.h"
#include "compiler/passes/split_clamp.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {

absl::StatusOr<std::vector<int32_t>> SplitOps(
    Graph& graph, absl::Span<const OpSplit> splits) {
  if (splits.size() != graph.ops.size()) {
    return absl::InvalidArgumentError("splits of another graph");
  }
  std::vector<int32_t> sums;
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] == OpSplit::kSums) sums.push_back(static_cast<int32_t>(i));
  }
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> halves,
                      SplitAccumulators(graph, sums));
  std::vector<int32_t> clamps;
  std::vector<int32_t> origin;
  for (size_t i = 0; i < halves.size(); ++i) {
    origin.push_back(halves[i]);
    if (splits[halves[i]] != OpSplit::kClamp) continue;
    clamps.push_back(static_cast<int32_t>(i));
    origin.push_back(halves[i]);
  }
  EK_RETURN_IF_ERROR(SplitClamps(graph, clamps));
  return origin;
}

std::vector<OpSplit> JoinOps(Graph& graph) {
  // The last to be split come first.
  const std::vector<bool> clamps = JoinClamps(graph);
  const std::vector<bool> sums = JoinRequantization(graph);
  std::vector<OpSplit> splits;
  size_t at = 0;
  for (const bool was_sums : sums) {
    splits.push_back(was_sums     ? OpSplit::kSums
                     : clamps[at] ? OpSplit::kClamp
                                  : OpSplit::kNone);
    at += was_sums ? 2 : 1;
  }
  return splits;
}

absl::string_view UpTo(OpSplit split) {
  switch (split) {
    case OpSplit::kSums:
      return " up to its int32 sums";
    case OpSplit::kClamp:
      return " up to its limits";
    default:
      return "";
  }
}

absl::string_view SecondHalf(OpSplit split) {
  switch (split) {
    case OpSplit::kSums:
      return "requantize";
    case OpSplit::kClamp:
      return "clip";
    default:
      return "";
  }
}

}  // namespace edgekiln::compiler
