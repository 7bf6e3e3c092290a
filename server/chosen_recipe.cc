#include "server/chosen_recipe.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "target/recipes.h"

namespace edgekiln::server {

absl::StatusOr<v1::ResolvedRecipe> ChosenRecipe(
    const v1::StageSummary::Target& target, const v1::CreateJobRequest& request,
    int index) {
  const absl::string_view name =
      target::RecipeNameOf(request.options().recipe());
  std::vector<std::string> names;
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe;
    names.push_back(recipe.name());
  }
  return target::UnknownRecipe(name, request.targets(index).name(), names);
}

Task<absl::StatusOr<const v1::StageResult*>> ResolvedTarget(
    const v1::CreateJobRequest& request, const TargetRun& run) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& resolved,
                         co_await ResultOf(run.resolve));
  EK_CO_RETURN_IF_ERROR(
      ChosenRecipe(resolved.summary().target(), request, run.stages.target())
          .status());
  co_return &resolved;
}

}  // namespace edgekiln::server
