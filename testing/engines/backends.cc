#include "compiler/codegen/backends.h"

#include "compiler/engines/dla/backend.h"
#include "compiler/engines/register_job/backend.h"
#include "testing/tiny_vector/compiler/backend.h"

namespace edgekiln::compiler {

// compiler/codegen/backends.cc, and the tutorial's.
const EngineBackend* BackendOf(v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &dla::Backend();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &register_job::Backend();
    case v1::EngineDescriptor::TINY_VECTOR:
      return &tiny_vector::Backend();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::compiler
