#ifndef EK_COMPILER_QUANTIZE_INTEGER_CHOICE_H_
#define EK_COMPILER_QUANTIZE_INTEGER_CHOICE_H_

#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Index of the channel dimension of the weights of an op that multiplies by
// constants; -1 for others.
int WeightAxis(const Op& op);

// A layer with weights, or a product of activations.
bool SumsProducts(const Op& op);

// Which ops of a float graph compute in integers, by index; the others stay
// float. `activations`: INT8, UINT8 or INT16.
// An op does if it has an integer kernel, unless it and its neighbours that
// have one stand between ops that have none, with no sum of products among
// them: there the way into the integers and back costs more than it saves. Ops
// at tensors that are `unbounded`, by index, stay float, and so do those that
// are `kept`, by index (empty: none).
std::vector<bool> ChooseIntegerOps(const Graph& graph,
                                   const std::vector<bool>& unbounded,
                                   const std::vector<bool>& kept = {},
                                   v1::ElementType activations = v1::INT8);

// Whether the integer kernel takes no other scale for its output than that of
// its inputs, or would lose by one.
bool SharesQuantization(const Graph& graph, const Op& op,
                        v1::ElementType activations = v1::INT8);

// Whether the op had better have one quantization for operands and result, as
// engines compute it, unless ranges are too different: a minimum or maximum of
// activations, or a leaky ReLU that makes them larger.
bool MayShareQuantization(const Graph& graph, const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_INTEGER_CHOICE_H_
