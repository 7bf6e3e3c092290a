#ifndef EK_COMPILER_PASSES_INTEGER_DOT_H_
#define EK_COMPILER_PASSES_INTEGER_DOT_H_

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/passes/integer_source.h"

namespace edgekiln::compiler {

// A sum of products on integers: conv2d, depthwise_conv2d or fully_connected.
struct IntegerDot {
  v1::OpAttributes attributes;
  Tensor weights;
  std::optional<Tensor> bias;
};

// Whether the op is a sum of products with weights.
bool IsDot(const Op& op);

// The integer form of a float sum of products whose input and weights come from
// integers, with `output` as its result. A bias becomes int32 with the scale of
// the products: unchanged where it has that scale already, else rounded to it.
// Empty if the integers do not fit the op.
std::optional<IntegerDot> MakeIntegerDot(const Graph& graph,
                                         const IntegerSources& sources,
                                         const Op& op, const Tensor& output);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_INTEGER_DOT_H_
