#ifndef EK_COMPILER_CODEGEN_BACKENDS_H_
#define EK_COMPILER_CODEGEN_BACKENDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The back end for that engine of the machine. INVALID_ARGUMENT if there is no
// such engine, or nothing compiles for its model.
absl::StatusOr<const EngineBackend*> FindBackend(const v1::Machine& machine,
                                                 int32_t engine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_BACKENDS_H_
