#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "target/engine_model.h"
#include "target/models/dla.h"
#include "target/models/register_job.h"

namespace edgekiln::target {
namespace {

std::string ModelNames() {
  std::string names;
  const auto* models = v1::EngineDescriptor::Model_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    if (models->value(i)->number() == 0) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ",
                    models->value(i)->name());
  }
  return names;
}

}  // namespace

// All engine models, one case each.
absl::StatusOr<const EngineModel*> FindEngineModel(
    v1::EngineDescriptor::Model model) {
  switch (model) {
    case v1::EngineDescriptor::COARSE_DLA:
      return &DlaModel();
    case v1::EngineDescriptor::REGISTER_JOB:
      return &RegisterJobModel();
    default:
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.reason = "TARGET_INVALID",
                        .what = "the engine model is missing or unknown",
                        .where = "model",
                        .limit = ModelNames(),
                        .fix = "correct the file; `edgekiln targets show dla` "
                               "is a valid one"});
  }
}

}  // namespace edgekiln::target
