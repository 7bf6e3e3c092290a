#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/session_input.h"
#include "server/worker/stages/stages.h"
#include "simfarm/host/host_op.h"
#include "simfarm/session/session.h"

namespace edgekiln::server {

namespace {

simfarm::SessionOptions WithSegments() {
  simfarm::SessionOptions options;
  options.segments = true;
  return options;
}

// `timeline` is null unless it is wanted.
absl::StatusOr<v1::SimReport> TimeOnly(const StageInputs& inputs,
                                       v1::Timeline* timeline) {
  EK_ASSIGN_OR_RETURN(const v1::Program program,
                      inputs.Parse<v1::Program>("program"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  const absl::StatusOr<v1::SimReport> report =
      simfarm::CountCycles(program, machine, WithSegments(), timeline);
  if (!report.ok()) return SimulationError(report.status());
  return report;
}

absl::StatusOr<v1::SimReport> RunOnZeros(const StageInputs& inputs,
                                         v1::Timeline* timeline) {
  EK_ASSIGN_OR_RETURN(const auto loaded, LoadProgram(inputs, WithSegments()));
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
  if (timeline != nullptr) {
    EK_ASSIGN_OR_RETURN(*timeline, loaded->session->MakeTimeline());
  }
  return report;
}

}  // namespace

absl::StatusOr<StageOutput> RunCountCycles(
    const v1::CountCyclesOptions& options, const StageInputs& inputs) {
  v1::Timeline timeline;
  v1::Timeline* wanted = options.timeline() ? &timeline : nullptr;
  EK_ASSIGN_OR_RETURN(v1::SimReport report, options.timing_only()
                                                ? TimeOnly(inputs, wanted)
                                                : RunOnZeros(inputs, wanted));
  StageOutput output;
  if (wanted != nullptr) output.Add("timeline", timeline);
  output.Add("sim_report", report);
  *output.summary.mutable_sim_report() = std::move(report);
  return output;
}

}  // namespace edgekiln::server
