#include "target/engine_model.h"
#include "target/models/dla.h"
#include "target/models/register_job.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::target {

// target/engine_models.cc, and the tutorial's.
const EngineModel* EngineModelOf(v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &DlaModel();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &RegisterJobModel();
    case v1::EngineDescriptor::TINY_VECTOR:
      return &tiny_vector::Model();
    default:
      return nullptr;
  }
}

}  // namespace edgekiln::target
