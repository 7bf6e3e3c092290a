#ifndef EK_COMPILER_PASSES_OP_TRAITS_H_
#define EK_COMPILER_PASSES_OP_TRAITS_H_

#include "compiler/ir/graph.h"

// What rewrites ask about an op, whatever its kind.
namespace edgekiln::compiler {

// Whether every value that the op gives is one of the values of its first
// input (or 0), chosen in a way that no increasing function of the values
// changes: reshapes, slices, maxima and the like. Such an op computes the same
// before and after a change of scale. One output only.
bool ChoosesValues(const Op& op);

// Ops of which every output element is one of the first input's, whatever their
// attributes. Others do so with some attributes only.
bool IsMovement(v1::OpAttributes::OpCase op);

// ChoosesValues() without looking at the values: where they come from is known
// from shapes and index tensors alone.
bool MovesValues(const Op& op);

// Whether an integer kernel of the op would be the float function between the
// scales of its inputs and that of its output; whether there is one is
// ops::CheckOp()'s to say. False for sums of products with weights and for ops
// that choose values, which have rules of their own, for those that mean
// something else on integers (counts, comparisons) and for those with several
// outputs.
bool HasIntegerMeaning(const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_OP_TRAITS_H_
