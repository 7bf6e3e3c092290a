#ifndef EK_COMPILER_CODEGEN_BACKENDS_H_
#define EK_COMPILER_CODEGEN_BACKENDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The back end of that engine model; null if nothing compiles for it. Defined
// in backends.cc alone; tests may link testing/engines/backends.cc instead,
// which lists more.
const EngineBackend* BackendOf(v1::EngineDescriptor::Model model);

// The back end for that engine of the machine. INVALID_ARGUMENT if there is no
// such engine, or nothing compiles for its model.
absl::StatusOr<const EngineBackend*> FindBackend(const v1::Machine& machine,
                                                 int32_t engine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_BACKENDS_H_
