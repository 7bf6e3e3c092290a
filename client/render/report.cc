#include "client/render/report.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"
#include "client/render/firmware.h"
#include "client/render/host_layers.h"
#include "client/render/hot_spots.h"
#include "client/render/layer_table.h"
#include "client/render/quantization.h"
#include "client/render/stages.h"
#include "reports/gate.h"
#include "reports/headline.h"
#include "reports/metric.h"

namespace edgekiln::client {
namespace {

// Columns of a label, with the space behind it.
constexpr int kLabelWidth = 12;
using Paint = std::string (Style::*)(absl::string_view) const;

std::string Painted(absl::string_view text, const Style& style, Paint paint) {
  return paint == nullptr ? std::string(text) : (style.*paint)(text);
}

// "label      text", the text in several lines where the window is narrow.
std::string Line(absl::string_view label, absl::string_view text,
                 const Style& style, Paint paint = nullptr) {
  const int width =
      style.width() == 0 ? 0 : std::max(style.width() - kLabelWidth, 1);
  std::string out;
  for (const std::string& line : WrapWords(text, width)) {
    const absl::string_view front = out.empty() ? label : "";
    const int pad = std::max(1, kLabelWidth - TextWidth(front));
    absl::StrAppend(&out, style.Bold(front), std::string(pad, ' '),
                    Painted(line, style, paint), "\n");
  }
  return out;
}

std::string Heading(const v1::Report& report, const Style& style) {
  std::string out;
  const std::string headline = Headline(report);
  if (!headline.empty()) {
    for (const std::string& line : WrapWords(headline, style.width())) {
      absl::StrAppend(&out, style.Yellow(line), "\n");
    }
  }
  std::string title = CleanText(report.model_name());
  if (title.empty()) title = "model";
  const std::string target = CleanText(report.target_name());
  if (!target.empty()) absl::StrAppend(&title, " on ", target);
  if (style.width() > 0) title = ClipMiddle(title, style.width());
  return out + style.Bold(title) + "\n";
}

// "flash 57.0 KiB of 64 MiB   ram 3.8 KiB of 64 MiB".
std::string MemoryLine(const v1::Report::Memory& memory, const Style& style) {
  std::vector<std::string> parts;
  for (const v1::MemoryUse& use : memory.memories()) {
    std::string capacity = FormatBytes(use.capacity_bytes());
    // Capacities are round.
    const size_t zero = capacity.find(".0 ");
    if (zero != std::string::npos) capacity.erase(zero, 2);
    parts.push_back(absl::StrCat(CleanText(use.name()), " ",
                                 FormatBytes(use.used_bytes()), " of ",
                                 capacity));
  }
  // Of a daemon that does not tell memories by name yet.
  if (parts.empty()) {
    parts = {absl::StrCat("flash ", FormatBytes(memory.flash_bytes())),
             absl::StrCat("RAM ", FormatBytes(memory.ram_bytes())),
             absl::StrCat("SRAM peak ", FormatBytes(memory.sram_peak_bytes()))};
  }
  return Line("memory", absl::StrJoin(parts, "   "), style);
}

// "integer io; 236 990 with float io"; empty where both forms cost the same. Of
// firmware, the other form is an estimate.
std::string IoText(const v1::Report::Totals& totals) {
  // 0: of a daemon that does not tell.
  if (totals.cycles_other_io() == totals.cycles() ||
      totals.cycles_other_io() == 0) {
    return "";
  }
  const bool is_float = totals.io() == v1::IO_FLOAT;
  return absl::StrCat(is_float ? "float" : "integer", " io; ",
                      totals.instructions() > 0 ? "about " : "",
                      GroupDigits(totals.cycles_other_io()), " with ",
                      is_float ? "integer" : "float", " io");
}

// The cycles of engines that requantize in layers of their own, by kind:
// "CONV 9 012 (60.1 %)   REQUANT 5 988 (39.9 %)".
std::string KindLines(const v1::Report& report, const Style& style) {
  std::string out;
  for (const v1::Report::Engine& engine : report.engines()) {
    std::vector<const v1::Report::Kind*> kinds;
    int64_t cycles = 0;
    bool requantizes = false;
    for (const v1::Report::Kind& kind : report.kinds()) {
      if (kind.engine() != engine.name()) continue;
      kinds.push_back(&kind);
      cycles += kind.cycles();
      requantizes = requantizes || kind.kind() == v1::REQUANT;
    }
    if (!requantizes || cycles <= 0 || engine.host()) continue;
    std::vector<std::string> parts;
    for (const v1::Report::Kind* kind : kinds) {
      parts.push_back(absl::StrCat(
          v1::LayerKind_Name(kind->kind()), " ", GroupDigits(kind->cycles()),
          " (",
          FormatPercent(
              static_cast<double>(kind->cycles()) / static_cast<double>(cycles),
              1),
          ")"));
    }
    out += Line("kinds",
                absl::StrCat(CleanText(engine.name()), "   ",
                             absl::StrJoin(parts, "   ")),
                style);
  }
  return out;
}

// "   proven bound 9 012 cycles (+0.3 %)"; empty where there is none.
std::string BoundText(const v1::Report::Engine& engine) {
  if (engine.bound_cycles() <= 0) return "";
  const double gap = static_cast<double>(engine.busy_cycles()) /
                         static_cast<double>(engine.bound_cycles()) -
                     1;
  return absl::StrCat("   proven bound ", GroupDigits(engine.bound_cycles()),
                      " cycles (", gap < 0 ? "" : "+", FormatPercent(gap, 2),
                      ")");
}

std::string Totals(const v1::Report& report, const Style& style) {
  const v1::Report::Totals& totals = report.totals();
  std::string out;
  if (!report.recipe().empty()) {
    out += Line("recipe", CleanText(report.recipe()), style);
  }
  if (!report.offload().empty() && report.offload() != "all") {
    out += Line("offload", CleanText(report.offload()), style);
  }
  if (totals.cycles() > 0) {
    std::string text = GroupDigits(totals.cycles());
    std::vector<std::string> notes;
    if (totals.fidelity() != v1::FIDELITY_UNSPECIFIED) {
      notes.push_back(FidelityText(totals.fidelity()));
    }
    if (std::string io = IoText(totals); !io.empty()) notes.push_back(io);
    if (!notes.empty()) {
      absl::StrAppend(&text, " (", absl::StrJoin(notes, "; "), ")");
    }
    absl::StrAppend(&text, "   latency ", LatencyText(totals.latency_ms()));
    if (totals.macs() > 0) {
      absl::StrAppend(&text, "   ", GroupDigits(totals.macs()), " MACs");
    }
    out += Line("cycles", text, style);
    if (HasEngine(report)) {
      out += Line(
          "dma",
          absl::StrCat("read ", FormatBytes(totals.dma_bytes_read()),
                       "   written ", FormatBytes(totals.dma_bytes_written())),
          style);
    }
  }
  for (const auto& [label, text] : FirmwareTexts(report)) {
    out += Line(label, text, style);
  }
  const bool polls = std::any_of(
      report.layers().begin(), report.layers().end(),
      [](const v1::Report::Layer& layer) { return layer.job_cycles() > 0; });
  for (const v1::Report::Engine& engine : report.engines()) {
    std::string text = absl::StrCat(
        CleanText(engine.name()), "   ", FormatFrequency(engine.clock_hz()),
        "   busy ", GroupDigits(engine.busy_cycles()), " cycles",
        engine.host() && polls ? ", polling included" : "", BoundText(engine));
    out += Line("engine", text, style);
  }
  out += KindLines(report, style);
  // Reports of older daemons have neither the form nor these shares.
  if (totals.cycles() > 0 && report.layers_size() > 0 && HasEngine(report) &&
      totals.io() != v1::IO_FORM_UNSPECIFIED) {
    const auto share = [](int64_t part, int64_t whole) {
      return FormatPercent(
          static_cast<double>(part) / static_cast<double>(whole), 1);
    };
    std::string text = absl::StrCat(
        share(totals.host_cycles(), totals.cycles()), " of cycles");
    if (totals.macs() > 0) {
      absl::StrAppend(
          &text, "   ",
          share(totals.macs() - totals.engine_macs(), totals.macs()),
          " of MACs");
    }
    out += Line("host share", text, style);
  }
  if (report.has_memory()) out += MemoryLine(report.memory(), style);
  return out;
}

std::string GateLines(const v1::Report& report, const Style& style) {
  std::string out;
  for (const v1::Report::Gate& gate : report.gates()) {
    const std::string text = GateText(gate);
    out += gate.passed() ? Line("gate", text, style, &Style::Green)
                         : Line("GATE BROKEN", text, style, &Style::Red);
  }
  return out;
}

std::string BitExactLine(const v1::Report::BitExact& exact,
                         const Style& style) {
  const std::string count =
      absl::StrCat(GroupDigits(exact.outputs_compared()), " values compared, ",
                   Count(exact.mismatches(), "mismatch", "mismatches"));
  if (exact.mismatches() == 0) {
    return Line("bit-exact", count, style, &Style::Green);
  }
  std::string out = Line("NOT EXACT", count, style, &Style::Red);
  if (!exact.first_mismatch().empty()) {
    out += Line("", absl::StrCat("first: ", CleanText(exact.first_mismatch())),
                style);
  }
  return out;
}

// Layers that no engine took, grouped by the reason. Those without cycles cost
// the host nothing: reshapes.
std::string HostLines(const v1::Report& report, const Style& style) {
  std::set<std::string> hosts;
  for (const v1::Report::Engine& engine : report.engines()) {
    if (engine.host()) hosts.insert(engine.name());
  }
  HostLayers layers;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (layer.reason().empty() || hosts.count(layer.engine()) == 0) continue;
    if (layer.cycles() == 0 && report.totals().cycles() > 0) continue;
    layers.Add(layer.id(), layer.reason());
  }
  std::string out;
  for (const std::string& line : layers.Lines()) {
    out += Line("on host", line, style);
  }
  return out;
}

// Of quantization: what there is to say below its tables.
std::string QuantizedLines(const v1::QuantizationReport& quantized,
                           const Style& style) {
  std::string out;
  const std::string output = QuantizedOutputText(quantized);
  if (!output.empty()) out += Line("output", output, style);
  const std::string choice = ChoiceText(quantized.choice());
  if (!choice.empty()) out += Line("chosen", choice, style);
  for (const std::string& line : FloatLayerLines(quantized)) {
    out += Line("stays float", line, style);
  }
  for (const std::string& note : quantized.notes()) {
    out += Line("note", CleanText(note), style);
  }
  return out;
}

std::string QuantizedTables(const v1::QuantizationReport& quantized,
                            const Style& style) {
  std::string out =
      absl::StrCat("\n", RenderQuantizedLayers(quantized, style), "\n");
  const std::string choice = RenderChoice(quantized.choice(), style);
  if (!choice.empty()) absl::StrAppend(&out, choice, "\n");
  const std::string costliest = RenderCostliest(quantized, style);
  if (!costliest.empty()) absl::StrAppend(&out, costliest, "\n");
  return out;
}

std::string Notes(const v1::Report& report, const Style& style) {
  std::string out;
  // A target that was refused has no layers: its ranges were never used.
  const bool refused = report.layers_size() == 0 && !report.has_bit_exact() &&
                       !report.has_quantized();
  // Of quantization alone, a warning says what is not known.
  if (report.calibration() == "SYNTHETIC" && !report.has_quantized() &&
      !refused) {
    out += Line("SYNTHETIC",
                "activation ranges were learned from seeded random inputs, so "
                "no accuracy is given; use --calibration DATA",
                style, &Style::Yellow);
  } else if (!report.calibration().empty() && !refused) {
    out += Line("calibration", CleanText(report.calibration()), style);
  }
  if (!report.quantization().empty() && !refused) {
    out += Line("quantized",
                absl::StrCat("as the target's engines need it: ",
                             CleanText(report.quantization())),
                style);
  }
  for (const std::string& warning : report.warnings()) {
    out += Line("warning", CleanText(warning), style, &Style::Yellow);
  }
  return out;
}

}  // namespace

std::string RenderReport(const v1::Report& report, const Style& style,
                         StageDetail stages) {
  std::string out = Heading(report, style);
  if (report.layers_size() > 0) out += "\n" + RenderLayers(report, style);
  out += RenderHotSpots(report, style);
  if (report.quantized().layers_size() > 0) {
    out += QuantizedTables(report.quantized(), style);
  }
  out += Totals(report, style);
  if (report.has_quantized()) out += QuantizedLines(report.quantized(), style);
  if (report.has_accuracy()) {
    out += RenderAccuracy(report.accuracy(), style,
                          [&](absl::string_view label, absl::string_view text) {
                            return Line(label, text, style);
                          });
  }
  if (report.has_bit_exact()) out += BitExactLine(report.bit_exact(), style);
  out += GateLines(report, style);
  out += HostLines(report, style);
  out += Notes(report, style);
  if (report.stages_size() == 0) return out;
  if (stages == StageDetail::kTable) {
    return absl::StrCat(out, "\n", RenderStages(report.stages(), style));
  }
  return out + Line("stages", StagesText(report.stages()), style);
}

}  // namespace edgekiln::client
