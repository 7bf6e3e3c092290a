#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/choose/choose.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunChoose(const v1::ChooseOptions& options,
                                      const StageInputs& inputs,
                                      const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto graph, GraphInput(inputs));
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      inputs.Parse<v1::CalibrationStatistics>("statistics"));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> samples,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  EK_ASSIGN_OR_RETURN(
      compiler::ChosenSchemes chosen,
      compiler::ChooseSchemes(*graph, options.needs(), options.config(),
                              {.capabilities = capabilities,
                               .machine = machine,
                               .offload = options.offload(),
                               .recipe = options.recipe()},
                              {.statistics = statistics,
                               .samples = samples,
                               .progress =
                                   [&](int64_t done, int64_t total) {
                                     v1::StageProgress state;
                                     state.set_done(done);
                                     state.set_total(total);
                                     state.set_unit("combinations");
                                     progress(state);
                                   }}),
      "choosing schemes");
  StageOutput output;
  v1::StageSummary::Choose_& summary = *output.summary.mutable_choose();
  *summary.mutable_config() = std::move(chosen.config);
  *summary.mutable_choice() = std::move(chosen.choice);
  return output;
}

}  // namespace edgekiln::server
