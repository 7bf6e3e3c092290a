#ifndef EK_COMPILER_PASSES_PERMUTATION_H_
#define EK_COMPILER_PASSES_PERMUTATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// Orders of dimensions, and what an op looks like on the other side of a
// transpose. Pure functions.
namespace edgekiln::compiler {

// Output dimension i is input dimension permutation[i].
using Permutation = std::vector<int32_t>;

Permutation Inverse(const Permutation& permutation);
std::vector<int64_t> Permuted(absl::Span<const int64_t> shape,
                              const Permutation& permutation);
// The shape with leading extents of 1 up to `rank`, as broadcasting sees it.
std::vector<int64_t> Ranked(std::vector<int64_t> shape, size_t rank);
// Whether the elements keep their order: only extents of 1 change places.
bool MovesOnlyOnes(absl::Span<const int64_t> shape,
                   const Permutation& permutation);

// An op in front of a transpose that stood before its data inputs.
struct MovedOp {
  v1::OpAttributes attributes;
  Permutation behind;  // Of the transposes behind it, one per output.
};

// op(transpose(x)) as transpose(op(x)); empty if the op cares for the order of
// dimensions in another way than by naming axes.
std::optional<MovedOp> MoveInFront(const Graph& graph, const Op& op,
                                   const Permutation& permutation);

// How many of the op's inputs, from the first, have the data's dimensions.
size_t DataInputs(const Op& op);
// Whether those inputs broadcast.
bool Broadcasts(const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_PERMUTATION_H_
