#ifndef EK_COMPILER_QUANTIZE_EXTREMES_H_
#define EK_COMPILER_QUANTIZE_EXTREMES_H_

#include "absl/types/span.h"

namespace edgekiln::compiler {

struct Extremes {
  float low = 0;
  float high = 0;
  bool numbers = true;  // None is NaN; otherwise the bounds mean nothing.
};

// Of at least one value.
Extremes ExtremesOf(absl::Span<const float> values);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_EXTREMES_H_
