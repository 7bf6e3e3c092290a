#include "server/report_builder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace edgekiln::server {
namespace {

using Machine = v1::StageSummary::Target::Machine_;

// -1 and what is unknown is the host.
bool IsEngine(const Machine& machine, int engine) {
  return engine >= 0 && engine < machine.engine_names_size();
}

// Name and peak of a layer's engine.
std::string EngineName(const Machine& machine, int engine) {
  return IsEngine(machine, engine) ? machine.engine_names(engine)
                                   : machine.host_name();
}

double Utilization(const Machine& machine, int engine, int64_t macs,
                   int64_t cycles) {
  if (engine < 0 || engine >= machine.engine_macs_per_cycle_size()) return 0;
  const double peak =
      static_cast<double>(cycles) *
      static_cast<double>(machine.engine_macs_per_cycle(engine));
  if (peak <= 0) return 0;
  return std::clamp(static_cast<double>(macs) / peak, 0.0, 1.0);
}

// Where the layer stands under the engine's roofline: Williams, Waterman and
// Patterson, "Roofline" (2009).
void AddRoofline(const Machine& machine, int engine, v1::Report::Layer& layer) {
  const int64_t bytes = layer.dma_bytes_read() + layer.dma_bytes_written();
  if (!IsEngine(machine, engine) || bytes == 0 ||
      engine >= machine.engine_bytes_per_cycle_size() ||
      machine.engine_bytes_per_cycle(engine) == 0) {
    return;
  }
  const double intensity =
      static_cast<double>(layer.macs()) / static_cast<double>(bytes);
  layer.set_macs_per_byte(intensity);
  layer.set_roofline_macs_per_cycle(std::min(
      static_cast<double>(machine.engine_macs_per_cycle(engine)),
      intensity * static_cast<double>(machine.engine_bytes_per_cycle(engine))));
}

void AddLayer(const Machine& machine, const v1::Program::Layer& fixed,
              const v1::SimReport::LayerCycles& measured, v1::Report& report) {
  v1::Report::Layer& layer = *report.add_layers();
  layer.set_id(fixed.id());
  layer.set_name(fixed.name());
  layer.set_op(fixed.op());
  layer.set_kind(fixed.kind());
  layer.set_subgraph(fixed.subgraph());
  layer.set_engine(EngineName(machine, fixed.engine()));
  layer.set_reason(fixed.reason());
  layer.set_cycles(measured.cycles());
  layer.set_compute_cycles(measured.compute_cycles());
  layer.set_stall_cycles(measured.stall_cycles());
  layer.set_macs(fixed.macs());
  layer.set_job_cycles(measured.job_cycles());
  layer.set_utilization(
      Utilization(machine, fixed.engine(), fixed.macs(),
                  std::max(measured.cycles(), measured.job_cycles())));
  layer.set_sram_bytes(fixed.sram_bytes());
  layer.set_tiles(fixed.tiles());
  layer.set_fidelity(measured.fidelity());
  layer.set_dma_bytes_read(measured.dma_bytes_read());
  layer.set_dma_bytes_written(measured.dma_bytes_written());
  *layer.mutable_stalls() = measured.stalls();
  layer.set_predicted_cycles(fixed.predicted_cycles());
  layer.set_bound_cycles(fixed.bound_cycles());
  layer.set_compulsory_bytes(fixed.compulsory_bytes());
  AddRoofline(machine, fixed.engine(), layer);
}

// Sums the layers by engine and kind.
void AddKinds(v1::Report& report) {
  // By the engine's position, then its name where it has none.
  std::map<std::tuple<int, std::string, v1::LayerKind>, v1::Report::Kind> kinds;
  for (const v1::Report::Layer& layer : report.layers()) {
    int engine = 0;
    while (engine < report.engines_size() &&
           report.engines(engine).name() != layer.engine()) {
      ++engine;
    }
    v1::Report::Kind& kind = kinds[{engine, layer.engine(), layer.kind()}];
    kind.set_kind(layer.kind());
    kind.set_engine(layer.engine());
    kind.set_layers(kind.layers() + 1);
    kind.set_cycles(kind.cycles() + layer.cycles());
    kind.set_compute_cycles(kind.compute_cycles() + layer.compute_cycles());
    kind.set_stall_cycles(kind.stall_cycles() + layer.stall_cycles());
    kind.set_macs(kind.macs() + layer.macs());
    kind.set_tiles(kind.tiles() + layer.tiles());
  }
  for (auto& [key, kind] : kinds) *report.add_kinds() = std::move(kind);
}

}  // namespace

void Add(const v1::StageSummary::Samples& chunk,
         v1::StageSummary::Samples& total) {
  total.set_samples(total.samples() + chunk.samples());
  total.set_labelled(total.labelled() + chunk.labelled());
  total.set_correct(total.correct() + chunk.correct());
  total.set_correct_top5(total.correct_top5() + chunk.correct_top5());
  total.set_classes(std::max(total.classes(), chunk.classes()));
  total.set_outputs_compared(total.outputs_compared() +
                             chunk.outputs_compared());
  total.set_mismatches(total.mismatches() + chunk.mismatches());
  if (chunk.cycles_max() > 0) {
    total.set_cycles_min(
        total.cycles_max() == 0
            ? chunk.cycles_min()
            : std::min(total.cycles_min(), chunk.cycles_min()));
    total.set_cycles_max(std::max(total.cycles_max(), chunk.cycles_max()));
  }
  total.mutable_predicted()->MergeFrom(chunk.predicted());
  total.mutable_label()->MergeFrom(chunk.label());
  total.mutable_score()->MergeFrom(chunk.score());
  if (total.first_mismatch().empty()) {
    total.set_first_mismatch(chunk.first_mismatch());
  }
}

namespace {

std::string WeightsName(v1::LayerScheme::Weights weights) {
  return absl::AsciiStrToLower(v1::LayerScheme::Weights_Name(weights));
}

// "ternary weights in 2 of 3 layers with a choice".
std::string ChoiceText(const v1::SchemeChoice& choice) {
  std::map<v1::LayerScheme::Weights, int> layers;
  for (const v1::SchemeChoice::Layer& layer : choice.layers()) {
    if (layer.chosen() == 0) continue;
    ++layers[layer.options(layer.chosen()).weights()];
  }
  std::vector<std::string> parts;
  for (const auto& [weights, count] : layers) {
    parts.push_back(absl::StrCat(WeightsName(weights), " weights in ", count,
                                 " of ", choice.layers_size(),
                                 " layers with a choice"));
  }
  if (parts.empty()) return "the most exact form of every layer";
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string QuantizationText(const v1::QuantizationNeeds& needs,
                             const v1::SchemeChoice& choice) {
  std::vector<std::string> parts;
  if (needs.per_tensor_size() > 0) {
    parts.push_back(absl::StrCat("one weight scale per layer in ",
                                 absl::StrJoin(needs.per_tensor(), ", ")));
  }
  if (needs.symmetric_activations()) parts.push_back("zero points 0");
  if (needs.power_of_two_scales()) parts.push_back("power-of-two scales");
  if (needs.equal_addends()) parts.push_back("one scale for what is added");
  if (needs.rounding() == v1::FLOOR) parts.push_back("results rounded down");
  for (const v1::QuantizationNeeds::Op& op : needs.ops()) {
    if (op.weight_values() == v1::WEIGHTS_INT4) {
      parts.push_back(absl::StrCat("int4 weights in ", op.op()));
    }
    if (op.accumulator_bits() > 0) {
      parts.push_back(absl::StrCat("sums of products within ",
                                   op.accumulator_bits(), " bits in ",
                                   op.op()));
    }
  }
  if (choice.layers_size() > 0) parts.push_back(ChoiceText(choice));
  return absl::StrJoin(parts, "; ");
}

void AddProgram(const v1::StageSummary::Target& target,
                const v1::StageSummary::Emit& emit,
                const v1::SimReport& simulated, v1::IoForm io,
                v1::Report& report) {
  const Machine& machine = target.machine();
  for (const v1::SimReport::EngineBusy& busy : simulated.engines()) {
    v1::Report::Engine& engine = *report.add_engines();
    engine.set_name(busy.name());
    engine.set_clock_hz(busy.clock_hz());
    engine.set_busy_cycles(busy.busy_cycles());
    *engine.mutable_units() = busy.units();
    *engine.mutable_segments() = busy.segments();
  }
  for (const v1::Program::Bound& bound : emit.bounds()) {
    if (bound.engine() < 0 || bound.engine() >= report.engines_size()) continue;
    report.mutable_engines(bound.engine())->set_bound_cycles(bound.cycles());
  }
  // The host comes last, behind the machine's engines.
  if (report.engines_size() == machine.engine_names_size() + 1) {
    report.mutable_engines()->rbegin()->set_host(true);
  }
  v1::Report::Totals& totals = *report.mutable_totals();
  // A sum is as trustworthy as its least trustworthy part.
  v1::Fidelity fidelity = v1::EXACT;
  int64_t macs = 0;
  int64_t engine_macs = 0;
  int64_t host_cycles = 0;
  const v1::SimReport::LayerCycles none;
  for (int i = 0; i < emit.layers_size(); ++i) {
    const auto& measured =
        i < simulated.layers_size() ? simulated.layers(i) : none;
    AddLayer(machine, emit.layers(i), measured, report);
    macs += emit.layers(i).macs();
    if (IsEngine(machine, emit.layers(i).engine())) {
      engine_macs += emit.layers(i).macs();
    } else {
      host_cycles += measured.cycles();
    }
    if (measured.cycles() > 0) {
      fidelity = std::max(fidelity, measured.fidelity());
    }
  }
  AddKinds(report);
  totals.set_cycles(simulated.cycles());
  totals.set_io(io);
  // The forms differ by these conversions and nothing else. What they cost
  // firmware is estimated.
  const int64_t conversions = emit.io_conversion_cycles();
  totals.set_cycles_other_io(std::max<int64_t>(
      0,
      simulated.cycles() + (io == v1::IO_FLOAT ? -conversions : conversions)));
  totals.set_instructions(simulated.instructions());
  totals.set_setup_instructions(simulated.setup_instructions());
  totals.set_macs(macs);
  totals.set_engine_macs(engine_macs);
  totals.set_host_cycles(host_cycles);
  if (machine.clock_hz() > 0) {
    totals.set_latency_ms(static_cast<double>(simulated.cycles()) * 1e3 /
                          static_cast<double>(machine.clock_hz()));
  }
  totals.set_dma_bytes_read(simulated.dma_bytes_read());
  totals.set_dma_bytes_written(simulated.dma_bytes_written());
  totals.set_fidelity(fidelity);
  v1::Report::Memory& memory = *report.mutable_memory();
  memory.set_flash_bytes(emit.flash_bytes());
  memory.set_ram_bytes(emit.ram_bytes());
  memory.set_sram_peak_bytes(emit.sram_peak_bytes());
  *memory.mutable_memories() = emit.memories();
  if (emit.has_sections()) *memory.mutable_sections() = emit.sections();
  *report.mutable_tensors() = emit.tensors();
}

void NameChoices(const v1::SchemeChoice& choice, v1::Report& report) {
  std::map<std::string, std::string> text;  // By layer.
  for (const v1::SchemeChoice::Layer& layer : choice.layers()) {
    const v1::SchemeChoice::Option& option = layer.options(layer.chosen());
    const bool on_engines =
        std::any_of(layer.options().begin(), layer.options().end(),
                    [](const auto& each) { return !each.engine().empty(); });
    if (!option.engine().empty() || !on_engines) continue;
    text[layer.id()] = absl::StrCat(WeightsName(option.weights()),
                                    " weights were chosen: ", layer.reason());
  }
  for (v1::Report::Layer& layer : *report.mutable_layers()) {
    const auto found = text.find(layer.id());
    if (found == text.end()) continue;
    const std::string& before = layer.reason();
    layer.set_reason(
        absl::StrCat(found->second, before.empty() ? "" : "; ", before));
  }
}

v1::SimReport EstimateOf(const v1::StageSummary::Target& target,
                         const v1::StageSummary::Emit& emit) {
  v1::SimReport estimate;
  for (const v1::Program::Layer& layer : emit.layers()) {
    v1::SimReport::LayerCycles& row = *estimate.add_layers();
    row.set_layer(estimate.layers_size() - 1);
    row.set_cycles(layer.predicted_cycles());
    row.set_compute_cycles(layer.predicted_cycles());
    row.set_fidelity(v1::ESTIMATE);
    estimate.set_cycles(estimate.cycles() + layer.predicted_cycles());
  }
  v1::SimReport::EngineBusy& host = *estimate.add_engines();
  host.set_name(target.machine().host_name());
  host.set_clock_hz(target.machine().clock_hz());
  host.set_busy_cycles(estimate.cycles());
  return estimate;
}

void AddCycleRange(const v1::StageSummary::Samples& simulated,
                   v1::Report& report) {
  if (simulated.cycles_max() == 0) return;
  report.mutable_totals()->set_cycles_min(simulated.cycles_min());
  report.mutable_totals()->set_cycles_max(simulated.cycles_max());
}

v1::JobEvent::Counted CountedOf(int target, v1::Report report) {
  for (v1::Report::Engine& engine : *report.mutable_engines()) {
    engine.clear_segments();
  }
  report.clear_tensors();
  v1::JobEvent::Counted counted;
  counted.set_target(target);
  if (report.ByteSizeLong() > kMaxCountedBytes) {
    counted.set_layers_left_out(report.layers_size());
    report.clear_layers();
  }
  *counted.mutable_report() = std::move(report);
  return counted;
}

v1::AccuracyInterval IntervalOf(int64_t correct, int64_t labelled) {
  constexpr double kZ =
      1.959963984540054;  // 97.5 % of the normal distribution.
  const double n = static_cast<double>(labelled);
  const double share = static_cast<double>(correct) / n;
  const double scale = 1 / (1 + kZ * kZ / n);
  const double centre = scale * (share + kZ * kZ / (2 * n));
  const double half =
      scale * kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  v1::AccuracyInterval interval;
  interval.set_value(share);
  // Rounding must not push the bounds past what they enclose.
  interval.set_low(std::clamp(centre - half, 0.0, share));
  interval.set_high(std::clamp(centre + half, share, 1.0));
  return interval;
}

v1::JobEvent::Samples ProgressOf(const v1::StageSummary::Samples& simulated,
                                 int64_t total, int target, v1::Metric metric) {
  v1::JobEvent::Samples progress;
  progress.set_done(simulated.samples());
  progress.set_total(total);
  progress.set_mismatches(simulated.mismatches());
  progress.set_target(target);
  const bool top5 = metric == v1::METRIC_TOP5;
  // Other metrics are known at the end.
  if (!top5 && metric != v1::METRIC_TOP1) return progress;
  progress.set_labelled(simulated.labelled());
  progress.set_correct(top5 ? simulated.correct_top5() : simulated.correct());
  if (progress.labelled() > 0) {
    *progress.mutable_accuracy() =
        IntervalOf(progress.correct(), progress.labelled());
  }
  return progress;
}

void AddBitExact(const v1::StageSummary::Samples& simulated,
                 v1::Report& report) {
  if (simulated.samples() == 0) return;
  v1::Report::BitExact& bit_exact = *report.mutable_bit_exact();
  bit_exact.set_outputs_compared(simulated.outputs_compared());
  bit_exact.set_mismatches(simulated.mismatches());
  bit_exact.set_first_mismatch(simulated.first_mismatch());
}

void AddWarnings(const v1::StageResult& result, v1::Report& report) {
  for (const std::string& warning : result.warnings()) {
    const auto& known = report.warnings();
    if (std::find(known.begin(), known.end(), warning) != known.end()) continue;
    report.add_warnings(warning);
  }
}

}  // namespace edgekiln::server
