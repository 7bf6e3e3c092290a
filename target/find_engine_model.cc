#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "target/engine_model.h"

namespace edgekiln::target {
namespace {

std::string ModelNames() {
  std::string names;
  const auto* models = v1::EngineDescriptor::Model_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    const auto model =
        static_cast<v1::EngineDescriptor::Model>(models->value(i)->number());
    if (EngineModelOf(model) == nullptr) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ",
                    models->value(i)->name());
  }
  return names;
}

}  // namespace

absl::StatusOr<const EngineModel*> FindEngineModel(
    v1::EngineDescriptor::Model model) {
  if (const EngineModel* const found = EngineModelOf(model)) return found;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = "the engine model is missing or unknown",
                    .where = "model",
                    .limit = ModelNames(),
                    .fix = "correct the file; `edgekiln targets show dla` is a "
                           "valid one"});
}

}  // namespace edgekiln::target
