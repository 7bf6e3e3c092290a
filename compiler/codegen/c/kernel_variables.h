#ifndef EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_
#define EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/firmware.pb.h"
#include "ops/requantize.h"

// The variables of expressions in a kernel library (kernel_library.proto):
// those of target/op_variables.h, then these.
namespace edgekiln::compiler {

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
  kInputs,   // Alike; absent ones count.
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
  kCount,
};

// All names, in the order of KernelFacts::values.
absl::Span<const std::string> KernelVariableNames();

struct KernelFacts {
  std::vector<int64_t> values;
  std::vector<ops::FixedPointMultiplier> factors;  // By output channel.

  int64_t& operator[](KernelVariable variable);
  int64_t operator[](KernelVariable variable) const;
};

// Of a step on that processor. Sizes that do not fit 64 bits are 0.
KernelFacts FactsOf(const StepWriter& w, v1::Processor processor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_
