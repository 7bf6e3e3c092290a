// Compiled with -mavx512bw (CMakeLists.txt); empty on other machines.
#if defined(__AVX512BW__)

#include "compiler/quantize/value_loops.h"

namespace edgekiln::compiler {

constexpr ValueKernels kAvx512ValueKernels = KernelsOf<64>();

}  // namespace edgekiln::compiler

#endif  // __AVX512BW__
