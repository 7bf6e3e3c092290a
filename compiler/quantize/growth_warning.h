#ifndef EK_COMPILER_QUANTIZE_GROWTH_WARNING_H_
#define EK_COMPILER_QUANTIZE_GROWTH_WARNING_H_

#include <string>

#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::compiler {

// What a narrow accumulator costs: names the layer whose weights lose most
// because their scale had to grow, the factor, and what to do; "" if no layer
// loses two bits of its weights.
std::string GrowthWarning(const v1::QuantizationReport& report);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_GROWTH_WARNING_H_
