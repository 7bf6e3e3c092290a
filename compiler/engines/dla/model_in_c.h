#ifndef EK_COMPILER_ENGINES_DLA_MODEL_IN_C_H_
#define EK_COMPILER_ENGINES_DLA_MODEL_IN_C_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler::dla {

// EngineBackend::FunctionalModel(): the files of desk/, and one with the
// encoding and the memory of this engine.
absl::StatusOr<std::vector<EngineBackend::ModelFile>> ModelInC(
    const v1::Machine& machine, int32_t engine);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_MODEL_IN_C_H_
