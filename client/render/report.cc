#include "client/render/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"
#include "client/render/bar.h"
#include "client/render/gate.h"
#include "client/render/headline.h"
#include "client/render/host_layers.h"
#include "client/render/table.h"
#include "client/render/wrap.h"

namespace edgekiln::client {
namespace {

// Widest layer id and op name in the table.
constexpr int kMaxNameWidth = 48;

std::string Heading(const v1::Report& report, const Style& style) {
  const std::string headline = Headline(report);
  const std::string first =
      headline.empty() ? "" : Wrapped(style.Yellow(headline), 0, style) + "\n";
  std::string title = CleanText(report.model_name());
  if (title.empty()) title = "model";
  const std::string target = CleanText(report.target_name());
  if (!target.empty()) absl::StrAppend(&title, " on ", target);
  return first + Wrapped(style.Bold(title), 0, style) + "\n";
}

// Columns of the bar that shows a layer's cycles; 0: no room, or no terminal.
int BarColumns(const Style& style) {
  constexpr int kWideWindow = 120;
  constexpr int kLeast = 20;
  constexpr int kMost = 40;
  if (style.width() < kWideWindow) return 0;
  return std::min(kLeast + (style.width() - kWideWindow) / 2, kMost);
}

// The columns that say least are dropped first. Bars are as long as the cycles,
// that of the longest layer fills its column.
std::vector<Table::Column> LayerColumns(bool bars) {
  std::vector<Table::Column> columns = {
      {.title = "LAYER"},
      {.title = "OP", .drop = 4},
      {.title = "ENGINE", .drop = 3},
      {.title = "CYCLES", .align = Align::kRight},
      {.title = "%", .align = Align::kRight, .drop = 1}};
  if (bars) columns.push_back({.title = "SHARE", .whole = true, .drop = 8});
  columns.push_back({.title = "UTIL", .align = Align::kRight, .drop = 2});
  columns.push_back({.title = "STALL", .align = Align::kRight, .drop = 6});
  columns.push_back({.title = "SRAM NEED", .align = Align::kRight, .drop = 5});
  columns.push_back({.title = "TILES", .align = Align::kRight, .drop = 7});
  return columns;
}

std::string Layers(const v1::Report& report, const Style& style) {
  const int64_t total = report.totals().cycles();
  const auto share = [&](int64_t cycles) {
    return total > 0 ? absl::StrFormat("%.1f", 100.0 * cycles / total)
                     : std::string("-");
  };
  int64_t longest = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    longest = std::max(longest, layer.cycles());
  }
  const int bar = longest > 0 ? BarColumns(style) : 0;
  Table table(LayerColumns(bar > 0));
  const auto add = [&](std::vector<std::string> cells, int64_t cycles,
                       Tone tone) {
    if (bar > 0) {
      const double part =
          static_cast<double>(cycles) / static_cast<double>(longest);
      cells.insert(cells.begin() + 5, Bar(part, bar, style));
    }
    table.AddRow(std::move(cells), tone);
  };
  int64_t cycles = 0;
  int64_t stalls = 0;
  int64_t tiles = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    cycles += layer.cycles();
    stalls += layer.stall_cycles();
    tiles += layer.tiles();
    add({ClipMiddle(CleanText(layer.id()), kMaxNameWidth),
         ClipMiddle(CleanText(layer.op()), kMaxNameWidth),
         CleanText(layer.engine()), GroupDigits(layer.cycles()),
         share(layer.cycles()),
         layer.utilization() > 0 ? FormatPercent(layer.utilization(), 1) : "-",
         GroupDigits(layer.stall_cycles()),
         layer.sram_bytes() > 0 ? FormatBytes(layer.sram_bytes()) : "-",
         layer.tiles() > 0 ? GroupDigits(layer.tiles()) : "-"},
        layer.cycles(), Tone::kNone);
  }
  add({"total", "", "", GroupDigits(cycles), share(cycles), "",
       GroupDigits(stalls), "", GroupDigits(tiles)},
      0, Tone::kStrong);
  return table.Render(style) + "\n";
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
  return Labelled("memory", absl::StrJoin(parts, "   "), style);
}

// "integer io; 236 990 with float io"; empty where both forms cost the same.
std::string IoText(const v1::Report::Totals& totals) {
  // 0: of a daemon that does not tell.
  if (totals.cycles_other_io() == totals.cycles() ||
      totals.cycles_other_io() == 0) {
    return "";
  }
  const bool is_float = totals.io() == v1::IO_FLOAT;
  return absl::StrCat(is_float ? "float" : "integer", " io; ",
                      GroupDigits(totals.cycles_other_io()), " with ",
                      is_float ? "integer" : "float", " io");
}

std::string Totals(const v1::Report& report, const Style& style) {
  const v1::Report::Totals& totals = report.totals();
  std::string out;
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
    absl::StrAppend(&text, "   latency ",
                    absl::StrFormat("%.4g ms", totals.latency_ms()));
    if (totals.macs() > 0) {
      absl::StrAppend(&text, "   ", GroupDigits(totals.macs()), " MACs");
    }
    out += Labelled("cycles", text, style);
    out += Labelled(
        "dma",
        absl::StrCat("read ", FormatBytes(totals.dma_bytes_read()),
                     "   written ", FormatBytes(totals.dma_bytes_written())),
        style);
  }
  const bool polls = std::any_of(
      report.layers().begin(), report.layers().end(),
      [](const v1::Report::Layer& layer) { return layer.job_cycles() > 0; });
  for (const v1::Report::Engine& engine : report.engines()) {
    std::string text = absl::StrCat(
        CleanText(engine.name()), "   ", FormatFrequency(engine.clock_hz()),
        "   busy ", GroupDigits(engine.busy_cycles()), " cycles",
        engine.host() && polls ? ", polling included" : "");
    out += Labelled("engine", text, style);
  }
  // Reports of older daemons have neither the form nor these shares.
  if (totals.cycles() > 0 && report.layers_size() > 0 &&
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
    out += Labelled("host share", text, style);
  }
  if (report.has_memory()) out += MemoryLine(report.memory(), style);
  return out;
}

std::string GateLines(const v1::Report& report, const Style& style) {
  std::string out;
  for (const v1::Report::Gate& gate : report.gates()) {
    const std::string text = GateText(gate);
    out += gate.passed() ? Labelled("gate", style.Green(text), style)
                         : Labelled("GATE BROKEN", style.Red(text), style);
  }
  return out;
}

std::string AccuracyLine(const v1::Report::Accuracy& accuracy,
                         const Style& style) {
  const auto text = [&](const std::string& metric, double value,
                        double reference,
                        const v1::AccuracyInterval* interval) {
    const double right = value * static_cast<double>(accuracy.samples());
    const int64_t correct =
        std::isfinite(right) ? static_cast<int64_t>(std::llround(right)) : 0;
    std::string text = absl::StrCat(metric, " ", FormatPercent(value, 2), " (",
                                    GroupDigits(correct), "/",
                                    GroupDigits(accuracy.samples()), ")");
    if (interval != nullptr) {
      absl::StrAppend(&text, "   95 % interval ", IntervalText(*interval));
    }
    if (accuracy.reference() != v1::Report::Accuracy::REFERENCE_UNSPECIFIED) {
      absl::StrAppend(
          &text, "   reference ",
          v1::Report::Accuracy::Reference_Name(accuracy.reference()), " ",
          FormatPercent(reference, 2));
    }
    return text;
  };
  std::string out =
      Labelled("accuracy",
               text(CleanText(accuracy.metric()), accuracy.value(),
                    accuracy.reference_value(),
                    accuracy.has_interval() ? &accuracy.interval() : nullptr),
               style);
  if (accuracy.has_top5_value()) {
    out += Labelled("",
                    text("top5", accuracy.top5_value(),
                         accuracy.top5_reference_value(), nullptr),
                    style);
  }
  return out;
}

std::string BitExactLine(const v1::Report::BitExact& exact,
                         const Style& style) {
  const std::string count =
      absl::StrCat(GroupDigits(exact.outputs_compared()), " values compared, ",
                   Count(exact.mismatches(), "mismatch", "mismatches"));
  if (exact.mismatches() == 0) {
    return Labelled("bit-exact", style.Green(count), style);
  }
  std::string out = Labelled("NOT EXACT", style.Red(count), style);
  if (!exact.first_mismatch().empty()) {
    out += Labelled(
        "", absl::StrCat("first: ", CleanText(exact.first_mismatch())), style);
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
    out += Labelled("on host", line, style);
  }
  return out;
}

// How the chip was used.
std::string Settings(const v1::Report& report, const Style& style) {
  std::string out;
  if (!report.recipe().empty()) {
    out += Labelled("recipe", CleanText(report.recipe()), style);
  }
  if (!report.offload().empty() && report.offload() != "all") {
    out += Labelled("offload", CleanText(report.offload()), style);
  }
  return out;
}

}  // namespace

std::vector<std::string> RenderNotes(const v1::Report& report,
                                     const Style& style) {
  std::vector<std::string> out;
  // A target that was refused has no layers: its ranges were never used.
  const bool refused = report.layers_size() == 0 && !report.has_bit_exact();
  if (report.calibration() == "SYNTHETIC" && !refused) {
    out.push_back(
        Labelled("SYNTHETIC",
                 style.Yellow("activation ranges were learned from seeded "
                              "random inputs, so no accuracy is given; use "
                              "--calibration DATA"),
                 style));
  } else if (!report.calibration().empty() && !refused) {
    out.push_back(
        Labelled("calibration", CleanText(report.calibration()), style));
  }
  if (!report.quantization().empty() && !refused) {
    out.push_back(Labelled("quantized",
                           absl::StrCat("as the target's engines need it: ",
                                        CleanText(report.quantization())),
                           style));
  }
  for (const std::string& warning : report.warnings()) {
    out.push_back(Labelled("warning", style.Yellow(CleanText(warning)), style));
  }
  return out;
}

std::string RenderReport(const v1::Report& report, const Style& style) {
  std::string out = Heading(report, style);
  if (report.layers_size() > 0) out += "\n" + Layers(report, style);
  out += Totals(report, style);
  if (report.has_accuracy()) out += AccuracyLine(report.accuracy(), style);
  if (report.has_bit_exact()) out += BitExactLine(report.bit_exact(), style);
  out += GateLines(report, style);
  out += HostLines(report, style);
  out += Settings(report, style);
  out += absl::StrJoin(RenderNotes(report, style), "");
  return out;
}

}  // namespace edgekiln::client
