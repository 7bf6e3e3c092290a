// Compiled with -mavx2 (CMakeLists.txt); empty on other machines.
#if defined(__AVX2__)

#include "compiler/quantize/value_loops.h"

namespace edgekiln::compiler {

constexpr ValueKernels kAvx2ValueKernels = KernelsOf<32>();

}  // namespace edgekiln::compiler

#endif  // __AVX2__
