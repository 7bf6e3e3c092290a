#ifndef EK_OPS_CPU_PATH_H_
#define EK_OPS_CPU_PATH_H_

namespace edgekiln::ops {

// Which instructions a kernel may use. Every path gives the same bits; a test
// forces each of them. A path this machine lacks falls back to the widest one
// below it that it has.
enum class CpuPath { kAuto, kScalar, kAvx2, kAvx512 };

// The path that will really run: never kAuto, never one the machine lacks.
CpuPath ResolveCpuPath(CpuPath wanted);

}  // namespace edgekiln::ops

#endif  // EK_OPS_CPU_PATH_H_
