#include <string>
#include <vector>

#include "base/status_macros.h"
#include "server/worker/stages/session_input.h"
#include "server/worker/stages/stages.h"
#include "simfarm/host/host_op.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunCountCycles(const v1::CountCyclesOptions&,
                                           const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto loaded, LoadProgram(inputs, {}));
  // Neither control flow nor cycles depend on data; any input will do.
  std::vector<std::string> zeros;
  for (const v1::TensorType& input : loaded->inputs) {
    EK_ASSIGN_OR_RETURN(const int64_t bytes, simfarm::TensorBytes(input));
    zeros.emplace_back(static_cast<size_t>(bytes), '\0');
  }
  const std::vector<absl::string_view> views(zeros.begin(), zeros.end());
  std::vector<std::string> outputs;
  const absl::StatusOr<v1::SimReport> report =
      loaded->session->RunChecked(views, nullptr, &outputs);
  if (!report.ok()) return SimulationError(report.status());
  StageOutput output;
  output.Add("sim_report", *report);
  *output.summary.mutable_sim_report() = *report;
  return output;
}

}  // namespace edgekiln::server
