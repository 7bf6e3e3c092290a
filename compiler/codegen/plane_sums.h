#ifndef EK_COMPILER_CODEGEN_PLANE_SUMS_H_
#define EK_COMPILER_CODEGEN_PLANE_SUMS_H_

// Host ops that add up whole channels of an image, in whichever order: an
// average pool over all of it, or a depthwise convolution that is one. Where an
// engine has channels as planes, one after the other, they need no other order,
// also if the bytes of words are reversed, but for words that two planes share.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/host_form.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {

// Whether the op's first input, int8 [1, h, w, c], is read so; not by its
// second one, too.
bool IsPlaneSum(const Graph& graph, const Op& op);

// Whether [1, h, w, c] lies as c planes without gaps, in whole groups of
// reversed bytes.
bool LiesInPlanes(const v1::Layout& layout);

// Groups of reversed bytes that hold bytes of two planes or more, in one row.
// An op that adds up dense planes finds the bytes of each once these groups are
// reversed back: moved to a room and from there to where they were.
struct SharedGroups {
  int64_t offset = 0;   // From the first plane.
  v1::Layout reversed;  // [groups, bytes of one] as they lie there.
  v1::Layout ordered;   // The same in the order of their elements.
  v1::Layout room;      // Dense.
};
// Of such planes; none if each has whole groups.
std::vector<SharedGroups> SharedGroupsOf(const v1::Layout& planes,
                                         int64_t room_bytes);
// The layout in which the op's first input lies in system memory, if the op
// IsPlaneSum() and the plans leave it in planes; else null.
const v1::Layout* PlanesOfInput(const Graph& graph, const Op& op,
                                const std::vector<TensorId>& storage,
                                const v1::RegionPlans& plans,
                                const v1::Machine& machine);
// The shared groups of these planes, through the room of the op's result.
std::vector<SharedGroups> SharedGroupsOf(const Graph& graph, const Op& op,
                                         const v1::Layout& planes);
// Host cycles of their moves if the plans leave the op's input in planes; else
// 0.
absl::StatusOr<int64_t> ReversalCycles(const Graph& graph, const Op& op,
                                       const std::vector<TensorId>& storage,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine,
                                       const target::HostCosts& costs);

// The op over planes, as one over a dense array [1, c, h * w, 1] that makes
// [1, c, 1, 1].
HostForm AsPlaneSum(const Graph& graph, const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLANE_SUMS_H_
