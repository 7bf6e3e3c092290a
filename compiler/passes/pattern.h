#ifndef EK_COMPILER_PASSES_PATTERN_H_
#define EK_COMPILER_PASSES_PATTERN_H_

#include <optional>
#include <vector>

#include "compiler/passes/graph_edit.h"

// Questions about the ops that make a float tensor, for passes that recognise
// one op in several. Nothing here changes the graph.
namespace edgekiln::compiler {

// The value of a constant of one element.
std::optional<double> ScalarValue(const Tensor& tensor);

// Whether two constants of a formula are the same number: exporters print and
// round them in different ways.
bool IsAbout(double value, double wanted);

// The op that makes the tensor if it is this unary function; else null.
const Op* UnaryOf(GraphEditor& editor, TensorId id,
                  v1::Unary::Function function);

// The other operand if the tensor is an addition of a scalar about `addend`.
// A fused clamp is ignored.
std::optional<TensorId> PlusScalar(GraphEditor& editor, TensorId id,
                                   double addend);

// A tensor as constant * factor * factor ..., through multiplications without
// clamp, divisions by scalars, and negations.
struct Product {
  double constant = 1;
  std::vector<TensorId> factors;
};
Product ProductOf(GraphEditor& editor, TensorId id);

// x if the tensor is constant * x with about this constant.
std::optional<TensorId> Scaled(GraphEditor& editor, TensorId id,
                               double constant);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_PATTERN_H_
