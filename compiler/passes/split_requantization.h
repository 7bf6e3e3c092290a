#ifndef EK_COMPILER_PASSES_SPLIT_REQUANTIZATION_H_
#define EK_COMPILER_PASSES_SPLIT_REQUANTIZATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// An op that sums products of integers also requantizes the sums. Here it
// becomes two: one that gives the int32 sums, and a Requantize of them, which
// may run elsewhere.
//
//   %y : int8 = conv2d(%x, %w, %b) {window {...} clamp {min 0}} id c
//
//   %y.accumulator : int32 = conv2d(%x, %w, %b) {window {...}} id c
//   %y : int8 = requantize(%y.accumulator) {multiplier [..] shift [..]
//                                           clamp {min 0}} id c.requantize
namespace edgekiln::compiler {

// OK if the op can be split; else INVALID_ARGUMENT that says why not. `graph`
// has been verified.
absl::Status CheckSplitsRequantization(const Graph& graph, const Op& op);

// Splits the ops with these indices, each given once. Every value stays the
// same, bit for bit. All tensors keep their ids, accumulators are appended in
// the order of the ops; each Requantize stands right behind its sums. `graph`
// has been verified, and verifies afterwards. On an error, that of
// CheckSplitsRequantization() for one of the ops, it is not changed.
absl::Status SplitRequantization(Graph& graph, absl::Span<const int32_t> ops);

// The inverse: joins all neighbours that a split could have made, if their
// accumulators are the graph's last tensors, are read by nothing else and are
// no outputs. Those accumulators are removed; all other tensors keep their ids.
// Returns for each remaining op whether it was joined. `graph` has been
// verified, and verifies afterwards.
std::vector<bool> JoinRequantization(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_SPLIT_REQUANTIZATION_H_
