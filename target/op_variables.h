#ifndef EK_TARGET_OP_VARIABLES_H_
#define EK_TARGET_OP_VARIABLES_H_

// Variables of an op in expressions of a descriptor: its attributes and the
// shapes of its tensors, under fixed names.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "target/macs.h"
#include "target/variable_values.h"

namespace edgekiln::target {

// Of a tensor, c is the last axis, w the one before, h the one before that, and
// batch the product of all others; axes that it does not have are 1.
// FullyConnected is as it computes: x has w rows of c values, y has w rows of
// c.
enum class OpVariable {
  kBatch,  // Of the first input.
  kInH,
  kInW,
  kInC,
  // The second input; 0 if there is none, or if that is weights.
  kIn2H,
  kIn2W,
  kIn2C,
  kOutH,
  kOutW,
  kOutC,
  // Of ops with a Window2d; without one, 1, and no padding.
  kKernelH,
  kKernelW,
  kStrideH,
  kStrideW,
  kDilationH,
  kDilationW,
  kPadTop,
  kPadBottom,
  kPadLeft,
  kPadRight,
  kCountPad,         // 1: an average that counts padding; else 0.
  kOneShape,         // 1: all inputs have the shape of the output; else 0.
  kGroups,           // Of Conv2d; else 1.
  kDepthMultiplier,  // Of DepthwiseConv2d; else 1.
  kBiased,           // 1: of the ops with weights, one with a bias; else 0.
  kRelu,             // 1: a Clip from 0 up without an upper bound; else 0.
  kInElements,       // Of the first input; 0 without one.
  kIn2Elements,
  kOutElements,  // Of the first output.
  kMacs,         // Multiply-accumulates (macs.h).
  kElements,     // Of the largest operand, at least macs.
};
inline constexpr int kNumOpVariables =
    static_cast<int>(OpVariable::kElements) + 1;

// Names in descriptors ("in_h"), indexed by OpVariable: the variables of
// Expression::Compile().
absl::Span<const std::string> OpVariableNames();

using OpVariables = VariableValues<OpVariable, kNumOpVariables>;

// The variables of an op with tensors of these shapes; an absent tensor has an
// empty shape, as a scalar has. Shapes that do not fit the op give meaningless
// values, not errors. INVALID_ARGUMENT if one is negative or has more elements
// than 64 bits count, OUT_OF_RANGE if the multiply-accumulates do.
absl::StatusOr<OpVariables> VariablesOf(const v1::OpAttributes& attributes,
                                        absl::Span<const ShapeSpan> inputs,
                                        absl::Span<const ShapeSpan> outputs);

}  // namespace edgekiln::target

#endif  // EK_TARGET_OP_VARIABLES_H_
