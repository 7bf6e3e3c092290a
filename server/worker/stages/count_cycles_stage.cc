#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/hot_spots.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/real_zero.h"
#include "ops/tensor_view.h"
#include "server/worker/stages/session_input.h"
#include "server/worker/stages/stages.h"
#include "simfarm/host/host_op.h"
#include "simfarm/hot_spots/hot_spots.h"
#include "simfarm/hot_spots/line_table.h"
#include "simfarm/session/firmware_profile.h"
#include "simfarm/session/session.h"

namespace edgekiln::server {

namespace {

simfarm::SessionOptions WithSegments() {
  simfarm::SessionOptions options;
  options.segments = true;
  return options;
}

// Of the ELF file that was run. The compiler and emit_c made what this cannot
// read.
absl::StatusOr<v1::HotSpots> HotSpotsOf(const simfarm::FirmwareProfile& profile,
                                        const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view elf, inputs.One("constants"));
  EK_ASSIGN_OR_RETURN(const v1::CSourceTree sources,
                      inputs.Parse<v1::CSourceTree>("c_sources"));
  const absl::StatusOr<simfarm::LineTable> lines =
      simfarm::LineTable::Read(elf);
  if (!lines.ok()) return SimulationError(lines.status());
  return simfarm::FindHotSpots(profile, *lines, sources);
}

// `timeline` is null unless it is wanted.
absl::StatusOr<v1::SimReport> TimeOnly(v1::Program program,
                                       const v1::Machine& machine,
                                       v1::Timeline* timeline) {
  const absl::StatusOr<v1::SimReport> report = simfarm::CountCycles(
      std::move(program), machine, WithSegments(), timeline);
  if (!report.ok()) return SimulationError(report.status());
  return report;
}

// One dense value of real zero per input.
absl::StatusOr<std::vector<std::string>> Zeros(
    const std::vector<v1::TensorType>& types) {
  std::vector<std::string> zeros;
  for (const v1::TensorType& type : types) {
    EK_ASSIGN_OR_RETURN(const int64_t bytes, simfarm::TensorBytes(type));
    const v1::Quantization& quantization = type.quantization();
    zeros.push_back(ops::RealZero(
        type.element_type(), bytes / ops::ElementBytes(type.element_type()),
        quantization.zero_point_size() == 1 ? quantization.zero_point(0) : 0));
  }
  return zeros;
}

// The first sample of the input "chunk", which only stages write. Values that
// do not fit the network are found by the session.
absl::StatusOr<std::vector<std::string>> FirstSample(
    const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(v1::Chunk chunk, inputs.Parse<v1::Chunk>("chunk"));
  if (chunk.samples() < 1) return absl::InternalError("a chunk of no samples");
  std::vector<std::string> values;
  for (v1::Chunk::Array& array : *chunk.mutable_arrays()) {
    std::string& all = *array.mutable_data();
    all.resize(all.size() / static_cast<size_t>(chunk.samples()));
    values.push_back(std::move(all));
  }
  return values;
}

// On the chunk's first sample, if there is one, else on zeros: without
// firmware, neither control flow nor cycles depend on data.
absl::StatusOr<v1::SimReport> RunOnce(const v1::CountCyclesOptions& options,
                                      const StageInputs& inputs,
                                      v1::Timeline* timeline) {
  simfarm::SessionOptions session_options = WithSegments();
  session_options.profile = options.hot_spots();
  EK_ASSIGN_OR_RETURN(const auto loaded, LoadProgram(inputs, session_options));
  const bool has_sample = loaded->is_firmware && inputs.Has("chunk");
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> values,
                      has_sample ? FirstSample(inputs) : Zeros(loaded->inputs));
  const std::vector<absl::string_view> views(values.begin(), values.end());
  std::vector<std::string> outputs;
  absl::StatusOr<v1::SimReport> report =
      loaded->session->RunChecked(views, nullptr, &outputs);
  if (!report.ok()) {
    return SimulationError(report.status(), loaded->has_own_kernels);
  }
  if (timeline != nullptr) {
    EK_ASSIGN_OR_RETURN(*timeline, loaded->session->MakeTimeline());
  }
  const auto profile = loaded->session->profile();
  if (profile != nullptr) {
    EK_ASSIGN_OR_RETURN(*report->mutable_hot_spots(),
                        HotSpotsOf(*profile, inputs));
  }
  return report;
}

absl::StatusOr<v1::SimReport> Count(const v1::CountCyclesOptions& options,
                                    const StageInputs& inputs,
                                    v1::Timeline* timeline) {
  if (!options.timing_only()) return RunOnce(options, inputs, timeline);
  EK_ASSIGN_OR_RETURN(
      const auto machine,
      inputs.ParseOnce<v1::Machine>("machine", {"program", "machine"}));
  EK_ASSIGN_OR_RETURN(v1::Program program,
                      inputs.Parse<v1::Program>("program"));
  if (program.has_firmware()) return RunOnce(options, inputs, timeline);
  return TimeOnly(std::move(program), *machine, timeline);
}

}  // namespace

absl::StatusOr<StageOutput> RunCountCycles(
    const v1::CountCyclesOptions& options, const StageInputs& inputs) {
  v1::Timeline timeline;
  v1::Timeline* wanted = options.timeline() ? &timeline : nullptr;
  EK_ASSIGN_OR_RETURN(v1::SimReport report, Count(options, inputs, wanted));
  StageOutput output;
  if (wanted != nullptr) output.Add("timeline", timeline);
  output.Add("sim_report", report);
  *output.summary.mutable_sim_report() = std::move(report);
  return output;
}

}  // namespace edgekiln::server
