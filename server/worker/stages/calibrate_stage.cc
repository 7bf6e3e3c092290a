#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/calibration_warning.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunCalibrate(const v1::CollectStatisticsOptions&,
                                         const StageInputs& inputs,
                                         const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  EK_ASSIGN_OR_RETURN(
      const v1::CalibrationStatistics statistics,
      compiler::Calibrate(graph, chunks, [&](int64_t done, int64_t total) {
        v1::StageProgress state;
        state.set_done(done);
        state.set_total(total);
        state.set_unit("samples");
        progress(state);
      }));
  StageOutput output;
  std::string warning = compiler::CalibrationWarning(chunks);
  if (!warning.empty()) output.warnings.push_back(std::move(warning));
  output.Add("statistics", statistics);
  return output;
}

}  // namespace edgekiln::server
