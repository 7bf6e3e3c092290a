#include "compiler/quantize/extremes.h"

#include "compiler/quantize/value_kernels.h"

namespace edgekiln::compiler {

Extremes ExtremesOf(absl::Span<const float> values, ops::CpuPath cpu_path) {
  return ValueKernelsFor(cpu_path).extremes(values.data(), values.size());
}

}  // namespace edgekiln::compiler
