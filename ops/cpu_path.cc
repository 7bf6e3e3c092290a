#include "ops/cpu_path.h"

namespace edgekiln::ops {
namespace {

#if defined(__x86_64__)
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#else
bool HasAvx2() { return false; }
bool HasAvx512() { return false; }
#endif

}  // namespace

CpuPath ResolveCpuPath(CpuPath wanted) {
  const bool wants_512 = wanted == CpuPath::kAuto || wanted == CpuPath::kAvx512;
  if (wants_512 && HasAvx512()) return CpuPath::kAvx512;
  if (wanted != CpuPath::kScalar && HasAvx2()) return CpuPath::kAvx2;
  return CpuPath::kScalar;
}

}  // namespace edgekiln::ops
