#include "target/engine_model.h"
#include "target/models/dla.h"
#include "target/models/register_job.h"

namespace edgekiln::target {

// All engine models, one case each.
const EngineModel* EngineModelOf(v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &DlaModel();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &RegisterJobModel();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::target
