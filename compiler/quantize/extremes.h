#ifndef EK_COMPILER_QUANTIZE_EXTREMES_H_
#define EK_COMPILER_QUANTIZE_EXTREMES_H_

#include "absl/types/span.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

struct Extremes {
  float low = 0;
  float high = 0;
  bool numbers = true;  // None is NaN; otherwise the bounds mean nothing.
};

// Of at least one value. A bound of 0 is never -0.
Extremes ExtremesOf(absl::Span<const float> values,
                    ops::CpuPath cpu_path = ops::CpuPath::kAuto);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_EXTREMES_H_
