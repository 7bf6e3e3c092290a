#ifndef EK_TARGET_KERNEL_VARIABLES_H_
#define EK_TARGET_KERNEL_VARIABLES_H_

#include <string>

#include "absl/types/span.h"

// The variables of expressions in a kernel library (kernel_library.proto):
// those of target/op_variables.h, then these.
namespace edgekiln::target {

enum class KernelVariable {
  // Whether the step has it; the second input of a convolution is weights.
  kHasBias,
  kBiasConstant,  // 1 as well where there is no bias.
  kWeightsConstant,
  kWeightZeros,    // 1: no zero point of the second input is other than 0.
  kOneWeightZero,  // 1: all are equal.
  kInQuantized,
  kIn2Quantized,
  kOutQuantized,
  kConverter,
  kOutputs,  // How many tensors.
  kInputs,   // How many; absent ones are counted.
  kInBytes,  // Of an element.
  kOutBytes,
  kRounding,   // Value of v1::Rounding; HALF_UP is 0.
  kDepthwise,  // 1: a depthwise convolution.
  // 1: a window leaves the input.
  kLeavesInput,
  kInputChannelFirst,  // 1: the first input lies as [n, c, h, w].
  // Requantization to the output, where the step has one: 1 if its factors are
  // known. n is the shift to the right of a 64-bit product.
  kFactors,
  kLeastN,
  kMostN,
  kOneFactor,  // 1: all channels have one multiplier and one n.
  kInZero,
  kIn2Zero,
  kOutZero,
  kClampMin,
  kClampMax,
  // Of an addition of quantized values.
  kLeftShift,
  kPow2LeftShift,  // 2 ^ kLeftShift.
  kMultiplierA,
  kNA,
  kMultiplierB,
  kNB,
  kMultiplierOut,
  kNOut,
  // Of ops along an axis: extents before, of and behind it.
  kOuter,
  kAxis,
  kInner,
  // Enumerator of the op: v1::UnaryFunction, v1::BinaryFunction; else 0.
  kFunction,
  // What the processor has: instructions for floats and doubles, the upper half
  // of a product, products of packed integers, vectors.
  kHasFloat,
  kHasDouble,
  kHasUpperHalf,
  kHasPacked,
  kHasVectors,
  // Of the call: CKernel.scratch_bytes_expr.
  kScratchBytes,
  // Of a channel, in CArgument.PerChannel; else of the first one.
  kMultiplier,
  kN,
  // Of a channel, in CArgument.PerChannel; else 0: the sum of its weights, and
  // its bias, where they are constant integers.
  kWeightSum,
  kBias,
  kElement,  // In CWeightLayout.source_expr; else 0.
  kCount,
};

// All names: of the variables of ops, then of these in their order.
absl::Span<const std::string> KernelVariableNames();

}  // namespace edgekiln::target

#endif  // EK_TARGET_KERNEL_VARIABLES_H_
