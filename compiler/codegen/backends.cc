#include "compiler/codegen/backends.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/engines/dla/backend.h"
#include "compiler/engines/register_job/backend.h"

namespace edgekiln::compiler {

// All engine models that can be compiled for, one case each.
absl::StatusOr<const EngineBackend*> FindBackend(const v1::Machine& machine,
                                                 int32_t engine) {
  if (engine < 0 || engine >= machine.engines_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the machine has no engine ", engine));
  }
  switch (machine.engines(engine).model()) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &dla::Backend();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &register_job::Backend();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("engine ", machine.engines(engine).name(),
                       ": nothing compiles for its model"));
  }
}

}  // namespace edgekiln::compiler
