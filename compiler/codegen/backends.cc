#include "compiler/codegen/backends.h"

#include "compiler/engines/dla/backend.h"
#include "compiler/engines/register_job/backend.h"

namespace edgekiln::compiler {

// All engine models that can be compiled for, one case each.
const EngineBackend* BackendOf(v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &dla::Backend();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &register_job::Backend();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::compiler
