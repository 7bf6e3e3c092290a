#include "server/worker/stages/session_input.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::server {

absl::StatusOr<LoadedProgram> LoadProgram(
    const StageInputs& inputs, std::vector<int64_t> tensor_element_bytes) {
  LoadedProgram loaded;
  EK_ASSIGN_OR_RETURN(loaded.program, inputs.Parse<v1::Program>("program"));
  EK_ASSIGN_OR_RETURN(const absl::string_view constants,
                      inputs.One("constants"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  simfarm::SessionOptions options;
  options.tensor_element_bytes = std::move(tensor_element_bytes);
  absl::StatusOr<std::unique_ptr<simfarm::Session>> session =
      simfarm::LoadSession(loaded.program, constants, machine, options);
  if (!session.ok()) return SimulationError(session.status());
  loaded.session = *std::move(session);
  return loaded;
}

absl::Status SimulationError(const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  return MakeError(
      absl::StatusCode::kInternal,
      {.fault = Fault::kInfra,
       .reason = "SIMULATION",
       .what = std::string("the simulated chip found a fault in the "
                           "program: ") +
               std::string(status.message()),
       .fix = "report this together with the model and the target"});
}

}  // namespace edgekiln::server
