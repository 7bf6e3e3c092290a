#ifndef EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_
#define EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_

#include <cstdint>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Replaces each of `count` values by the nearest that int8 with the one scale
// of `quantization` stands for; halves go up. The same on every machine.
void RoundToSteps(const Quantization& quantization, float* values,
                  int64_t count);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ROUND_TO_STEPS_H_
