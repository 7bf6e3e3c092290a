#ifndef EK_SERVER_CHOSEN_RECIPE_H_
#define EK_SERVER_CHOSEN_RECIPE_H_

// A target with the recipe that a job asks for. Recipes are looked up by name
// in what resolve_target says of the target, so that no stage's key contains a
// name: another recipe runs those stages again whose part of it differs.

#include "absl/status/statusor.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

// NOT_FOUND with reason RECIPE_UNKNOWN if `target`, which is the one at `index`
// of the request, does not have the recipe of its options.
absl::StatusOr<v1::ResolvedRecipe> ChosenRecipe(
    const v1::StageSummary::Target& target, const v1::CreateJobRequest& request,
    int index);

// What resolve_target left of the run's target, if that has the recipe. Valid
// as long as the stage. Errors: of the stage, and of ChosenRecipe().
Task<absl::StatusOr<const v1::StageResult*>> ResolvedTarget(
    const v1::CreateJobRequest& request, const TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_CHOSEN_RECIPE_H_
