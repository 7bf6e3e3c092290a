#ifndef EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_
#define EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_

#include <cstdint>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Replaces each of `count` values by the nearest that integers of `type` (INT8,
// UINT8 or INT16) with the one scale of `quantization` stand for; halves go up,
// and of 8 bits what is up to 2^-16 of a step below them. The same on every
// machine.
void RoundToSteps(const Quantization& quantization, float* values,
                  int64_t count, v1::ElementType type = v1::INT8);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_
