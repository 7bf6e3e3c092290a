#ifndef EK_COMPILER_PASSES_SPLIT_CLAMP_H_
#define EK_COMPILER_PASSES_SPLIT_CLAMP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// A quantized op may end at limits that its engine does not have: the engine
// limits results to the values of the type, or from real 0 up to the largest
// (Numerics.plain_clamps). Here such an op becomes two: one with the narrowest
// of these limits that holds its own, and a Clip, which may run elsewhere.
//
//   %y : int8 = conv2d(%x, %w) {window {...} clamp {min 0 max 6}} id c
//
//   %y.unclipped : int8 = conv2d(%x, %w) {window {...} clamp {min 0}} id c
//   %y : int8 = clip(%y.unclipped) {clamp {min 0 max 6}} id c.clip
namespace edgekiln::compiler {

// The op with its plain limits; nothing if its own are plain, or cannot be
// split off: of clips, requantizations, converters, and results without one
// scale. `graph` has been verified.
std::optional<Op> WithPlainClamp(const Graph& graph, const Op& op);

// Splits the ops with these indices, each given once. Every value stays the
// same, bit for bit. All tensors keep their ids, those between the halves are
// appended in the order of the ops; each Clip stands right behind its op.
// `graph` has been verified, and verifies afterwards. INVALID_ARGUMENT if
// WithPlainClamp() has nothing for an op; then it is not changed.
absl::Status SplitClamps(Graph& graph, absl::Span<const int32_t> ops);

// Whether the two ops, of which the second reads the result of the first, are
// halves that SplitClamps() made.
bool AreClampHalves(const Graph& graph, const Op& first, const Op& second);

// The inverse: joins such halves whose tensors are the graph's last ones, as
// JoinHalves() has it. Returns for each remaining op whether it was joined.
// `graph` has been verified, and verifies afterwards.
std::vector<bool> JoinClamps(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_SPLIT_CLAMP_H_
