#include "compiler/quantize/value_kernels.h"

namespace edgekiln::compiler {

const ValueKernels& ValueKernelsFor(ops::CpuPath path) {
#if defined(__x86_64__)
  const ops::CpuPath resolved = ops::ResolveCpuPath(path);
  if (resolved == ops::CpuPath::kAvx512) return kAvx512ValueKernels;
  if (resolved == ops::CpuPath::kAvx2) return kAvx2ValueKernels;
#else
  static_cast<void>(path);
#endif
  return kScalarValueKernels;
}

}  // namespace edgekiln::compiler
