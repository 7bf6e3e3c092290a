#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_MODEL_IN_C_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_MODEL_IN_C_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler::register_job {

// The sizes of arrays in desk/job_model.h.
inline constexpr int kMostModelRegisters = 256;
inline constexpr int kMostModelTerms = 16;

// EngineBackend::FunctionalModel(): the files of desk/, and one with the
// registers of this engine and its expressions as C. None for engines with an
// expression with sum() that is not of time, or more registers, or terms of an
// operand, than that.
absl::StatusOr<std::vector<EngineBackend::ModelFile>> ModelInC(
    const v1::Machine& machine, int32_t engine);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_MODEL_IN_C_H_
