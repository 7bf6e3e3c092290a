#include "client/render/layer_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

// Widest layer id and op name in the table.
constexpr int kMaxNameWidth = 48;

// Where bars begin to help, and how long the longest may be.
constexpr int kBarWindow = 120;
constexpr int kMaxBar = 24;

// What the memory next to the engines is called: most chips have an SRAM.
std::string ScratchpadTitle(const v1::Report& report) {
  const auto& memories = report.memory().memories();
  const bool sram =
      memories.empty() || std::any_of(memories.begin(), memories.end(),
                                      [](const v1::MemoryUse& use) {
                                        return use.name() == "sram";
                                      });
  return sram ? "SRAM" : "SCRATCH";
}

// As long as the layer's share of the cycles of the longest one.
std::string Bar(int64_t cycles, int64_t longest) {
  if (cycles <= 0 || longest <= 0) return "";
  const double share =
      static_cast<double>(cycles) / static_cast<double>(longest);
  return std::string(std::max(1, static_cast<int>(share * kMaxBar + 0.5)), '#');
}

// The share of a layer's cycles that no plan can avoid.
std::string BoundShare(const v1::Report::Layer& layer) {
  if (layer.bound_cycles() <= 0 || layer.cycles() <= 0) return "-";
  return FormatPercent(static_cast<double>(layer.bound_cycles()) /
                           static_cast<double>(layer.cycles()),
                       1);
}

// Bytes moved, as a multiple of the compulsory ones: "0.25x".
std::string DmaRatio(const v1::Report::Layer& layer) {
  if (layer.compulsory_bytes() <= 0) return "-";
  return absl::StrFormat(
      "%.2fx",
      static_cast<double>(layer.dma_bytes_read() + layer.dma_bytes_written()) /
          static_cast<double>(layer.compulsory_bytes()));
}

}  // namespace

bool HasEngine(const v1::Report& report) {
  return std::any_of(
      report.engines().begin(), report.engines().end(),
      [](const v1::Report::Engine& engine) { return !engine.host(); });
}

std::string RenderLayers(const v1::Report& report, const Style& style) {
  const int64_t total = report.totals().cycles();
  const auto share = [&](int64_t cycles) {
    return total > 0 ? absl::StrFormat("%.1f", 100.0 * cycles / total)
                     : std::string("-");
  };
  // Engines whose model knows what no plan can avoid.
  const bool bounds = std::any_of(
      report.layers().begin(), report.layers().end(),
      [](const v1::Report::Layer& layer) { return layer.bound_cycles() > 0; });
  std::vector<Table::Column> columns = {
      {"LAYER"},
      {.title = "OP", .drop = 2},
      {.title = "ENGINE", .drop = 1},
      {"CYCLES", Align::kRight},
      {.title = "%", .align = Align::kRight, .drop = 3}};
  // What a host alone has nothing of.
  const bool engines = HasEngine(report) || report.engines().empty();
  if (engines) {
    columns.push_back({.title = "UTIL", .align = Align::kRight, .drop = 4});
    columns.push_back({.title = "STALL", .align = Align::kRight, .drop = 5});
    columns.push_back(
        {.title = ScratchpadTitle(report), .align = Align::kRight, .drop = 6});
    columns.push_back({.title = "TILES", .align = Align::kRight, .drop = 7});
  }
  if (bounds) {
    columns.push_back({.title = "BOUND", .align = Align::kRight, .drop = 8});
    columns.push_back({.title = "DMA", .align = Align::kRight, .drop = 9});
  }
  const bool bars = style.width() >= kBarWindow && total > 0;
  if (bars) columns.push_back({.title = "", .drop = 10});
  Table table(std::move(columns));
  int64_t longest = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    longest = std::max(longest, layer.cycles());
  }
  int64_t cycles = 0;
  int64_t stalls = 0;
  int64_t tiles = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    cycles += layer.cycles();
    stalls += layer.stall_cycles();
    tiles += layer.tiles();
    std::vector<std::string> row = {
        ClipMiddle(CleanText(layer.id()), kMaxNameWidth),
        ClipMiddle(CleanText(layer.op()), kMaxNameWidth),
        CleanText(layer.engine()), GroupDigits(layer.cycles()),
        share(layer.cycles())};
    if (engines) {
      row.push_back(layer.utilization() > 0
                        ? FormatPercent(layer.utilization(), 1)
                        : "-");
      row.push_back(GroupDigits(layer.stall_cycles()));
      row.push_back(layer.sram_bytes() > 0 ? FormatBytes(layer.sram_bytes())
                                           : "-");
      row.push_back(layer.tiles() > 0 ? GroupDigits(layer.tiles()) : "-");
    }
    if (bounds) {
      row.push_back(BoundShare(layer));
      row.push_back(DmaRatio(layer));
    }
    if (bars) row.push_back(Bar(layer.cycles(), longest));
    table.AddRow(std::move(row));
  }
  std::vector<std::string> sums = {"total", "", "", GroupDigits(cycles),
                                   share(cycles)};
  if (engines) {
    for (std::string sum : {std::string(), GroupDigits(stalls), std::string(),
                            GroupDigits(tiles)}) {
      sums.push_back(std::move(sum));
    }
  }
  table.AddRow(std::move(sums));
  return table.Render(style) + "\n";
}

}  // namespace edgekiln::client
