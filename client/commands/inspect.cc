#include "client/commands/inspect.h"

#include <vector>

#include "base/status_macros.h"
#include "client/job_request.h"
#include "client/recipe_support.h"
#include "client/render/model.h"
#include "client/retry.h"
#include "client/text_arguments.h"
#include "proto/convert.h"
#include "reports/text/json.h"

namespace edgekiln::client {

absl::Status RunInspect(CommandContext& context) {
  const CommandLine& line = context.line;
  v1::InspectModelRequest request;
  std::vector<LocalBlob> blobs(1);
  EK_ASSIGN_OR_RETURN(blobs[0], OpenModel(context.files, line.model, "MODEL"));
  *request.mutable_model() = ToProto(blobs[0].digest);
  request.set_model_name(ShownFileName(line.model));
  EK_ASSIGN_OR_RETURN(*request.mutable_bindings(),
                      OpenBindings(context, blobs));
  if (!line.targets.empty()) {
    request.set_recipe(line.recipe);
    EK_ASSIGN_OR_RETURN(*request.mutable_target(),
                        ResolveTarget(line.targets[0], context, blobs));
  }
  EK_RETURN_IF_ERROR(UploadBlobs(blobs, context));
  v1::ModelDescription model;
  EK_RETURN_IF_ERROR(
      RetryWhenTold(context, nullptr,
                    [&]() -> absl::Status {
                      EK_ASSIGN_OR_RETURN(
                          model, context.connection.InspectModel(request));
                      return absl::OkStatus();
                    }),
      request.model_name());
  EK_RETURN_IF_ERROR(CheckKnowsRecipes(line.recipe, model.recipe()));
  context.progress.Clear();
  context.print(line.json
                    ? ToJson(model)
                    : RenderModel(model, request.model_name(), context.style,
                                  request.target().name()));
  return absl::OkStatus();
}

}  // namespace edgekiln::client
