#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_BACKEND_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_BACKEND_H_

#include "compiler/engines/backend.h"

namespace edgekiln::compiler::register_job {

// Compiles for engines of model REGISTER_JOB (docs/targets/register_job.md).
// Borders lie densely in system memory, or resident in the engine's memory and
// in its own layout.
const EngineBackend& Backend();

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_BACKEND_H_
