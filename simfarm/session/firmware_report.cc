#include "simfarm/session/firmware_report.h"

#include "base/status_macros.h"
#include "simfarm/session/segments.h"
#include "simfarm/session/timeline.h"
#include "simfarm/session/unit_segments.h"

namespace edgekiln::simfarm {
namespace {

constexpr int kHostIndex = 0;  // There are no engines before it.

void AddSegments(const v1::SimReport& report, UnitSegments& segments) {
  int64_t begin = 0;
  for (const v1::SimReport::LayerCycles& layer : report.layers()) {
    const int64_t end = begin + layer.cycles();
    segments.Add(kHost, 0,
                 {begin, end, layer.layer(), v1::TimelineSegment::HOST_OP});
    begin = end;
  }
}

}  // namespace

absl::StatusOr<v1::SimReport> MakeFirmwareReport(
    const FirmwareProgram& firmware, const InferenceCount& count,
    int64_t setup_instructions) {
  const v1::Machine& machine = firmware.loaded->machine;
  const auto to_wall = [&](int64_t cycles) {
    return ConvertCycles(cycles, machine.host_clock_hz(), machine.clock_hz());
  };
  v1::SimReport report;
  report.set_instructions(count.instructions);
  report.set_setup_instructions(setup_instructions);
  EK_ASSIGN_OR_RETURN(const int64_t cycles, to_wall(count.cycles));
  report.set_cycles(cycles);
  // Borders are converted, not spans, so that they sum to the total.
  int64_t core_end = 0;
  int64_t begin = 0;
  for (const int64_t core_cycles : count.layer_cycles) {
    core_end += core_cycles;
    EK_ASSIGN_OR_RETURN(const int64_t end, to_wall(core_end));
    v1::SimReport::LayerCycles* const layer = report.add_layers();
    layer->set_layer(report.layers_size() - 1);
    layer->set_cycles(end - begin);
    layer->set_compute_cycles(end - begin);
    layer->set_fidelity(firmware.has_costs() ? v1::CYCLE_APPROXIMATE
                                             : v1::EXACT);
    begin = end;
  }
  v1::SimReport::EngineBusy* const host = report.add_engines();
  host->set_name(machine.host_name());
  host->set_clock_hz(machine.host_clock_hz());
  host->set_busy_cycles(count.cycles);
  if (firmware.loaded->options.segments) {
    UnitSegments segments(*firmware.loaded);
    AddSegments(report, segments);
    segments.Merge(kMaxReportSegments);
    segments.Write(kHostIndex, host);
  }
  return report;
}

v1::Timeline MakeFirmwareTimeline(const FirmwareProgram& firmware,
                                  const v1::SimReport& report) {
  v1::Timeline timeline;
  timeline.set_cycles(report.cycles());
  for (const v1::Program::Layer& layer : firmware.loaded->program.layers()) {
    timeline.add_layers(layer.id());
  }
  v1::EngineTimeline* const host = timeline.add_engines();
  host->set_name(firmware.loaded->machine.host_name());
  UnitSegments segments(*firmware.loaded);
  AddSegments(report, segments);
  segments.Write(kHostIndex, host);
  return timeline;
}

}  // namespace edgekiln::simfarm
