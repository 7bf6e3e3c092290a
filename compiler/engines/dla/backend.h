#ifndef EK_COMPILER_ENGINES_DLA_BACKEND_H_
#define EK_COMPILER_ENGINES_DLA_BACKEND_H_

#include "compiler/engines/backend.h"

namespace edgekiln::compiler::dla {

// Compiles for engines of model COARSE_DLA (docs/targets/dla.md). Borders lie
// densely in system memory.
const EngineBackend& Backend();

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_BACKEND_H_
