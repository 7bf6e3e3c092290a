#include "compiler/quantize/value_loops.h"

namespace edgekiln::compiler {

constexpr ValueKernels kScalarValueKernels = KernelsOf<16>();

}  // namespace edgekiln::compiler
