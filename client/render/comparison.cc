#include "client/render/comparison.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "reports/gate.h"
#include "reports/metric.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr char kNothing[] = "-";

// A column with what it says of each report.
struct Measure {
  Table::Column column;
  std::function<std::string(const v1::Report&)> text;
};

// Clocks differ, so that cycles alone compare nothing.
double BestLatency(const std::vector<v1::Report>& reports) {
  double best = 0;
  for (const v1::Report& report : reports) {
    const double latency = report.totals().latency_ms();
    if (latency > 0 && (best == 0 || latency < best)) best = latency;
  }
  return best;
}

std::string GatesText(const v1::Report& report) {
  if (report.has_error()) return "failed";
  if (report.gates().empty()) return kNothing;
  const auto broken =
      std::count_if(report.gates().begin(), report.gates().end(),
                    [](const auto& gate) { return !gate.passed(); });
  return broken == 0 ? "passed" : absl::StrCat(broken, " broken");
}

std::string EngineShare(const v1::Report& report) {
  const v1::Report::Totals& totals = report.totals();
  if (totals.macs() <= 0 || totals.cycles() <= 0) return kNothing;
  return FormatPercent(static_cast<double>(totals.engine_macs()) /
                           static_cast<double>(totals.macs()),
                       1);
}

std::vector<std::string> MemoryNames(const std::vector<v1::Report>& reports) {
  std::vector<std::string> names;
  for (const v1::Report& report : reports) {
    for (const v1::MemoryUse& use : report.memory().memories()) {
      if (std::find(names.begin(), names.end(), use.name()) == names.end()) {
        names.push_back(use.name());
      }
    }
  }
  return names;
}

Measure MemoryMeasure(const std::string& name, int drop) {
  return {{.title = absl::AsciiStrToUpper(CleanText(name)),
           .align = Align::kRight,
           .drop = drop},
          [name](const v1::Report& report) -> std::string {
            for (const v1::MemoryUse& use : report.memory().memories()) {
              if (use.name() == name) return FormatBytes(use.used_bytes());
            }
            return kNothing;
          }};
}

std::vector<Measure> Measures(const std::vector<v1::Report>& reports) {
  const double best = BestLatency(reports);
  std::vector<Measure> measures = {
      {{"CYCLES", Align::kRight},
       [](const v1::Report& report) -> std::string {
         const int64_t cycles = report.totals().cycles();
         return cycles > 0 ? GroupDigits(cycles) : kNothing;
       }},
      {{.title = "LATENCY", .align = Align::kRight, .drop = 2},
       [](const v1::Report& report) -> std::string {
         const double latency = report.totals().latency_ms();
         return latency > 0 ? LatencyText(latency) : kNothing;
       }},
      {{.title = "VS BEST", .align = Align::kRight, .drop = 3},
       [best](const v1::Report& report) -> std::string {
         const double latency = report.totals().latency_ms();
         return latency > 0 ? absl::StrFormat("%.2fx", latency / best)
                            : kNothing;
       }},
      {{"ACCURACY", Align::kRight}, MetricCell},
      {{.title = "DISAGREES", .align = Align::kRight, .drop = 4},
       [](const v1::Report& report) -> std::string {
         const auto& disagreement = report.accuracy().disagreement();
         return disagreement.samples() > 0
                    ? FormatPercent(disagreement.interval().value(), 2)
                    : kNothing;
       }},
      {{.title = "MACS ON ENGINES", .align = Align::kRight, .drop = 5},
       EngineShare},
      {{.title = "FIGURES", .drop = 6},
       [](const v1::Report& report) -> std::string {
         return report.totals().fidelity() == v1::FIDELITY_UNSPECIFIED
                    ? kNothing
                    : FidelityText(report.totals().fidelity());
       }},
      {{.title = "MISMATCHES", .align = Align::kRight, .drop = 1},
       [](const v1::Report& report) -> std::string {
         return report.bit_exact().mismatches() > 0
                    ? GroupDigits(report.bit_exact().mismatches())
                    : kNothing;
       }}};
  int drop = 10;
  for (const std::string& name : MemoryNames(reports)) {
    measures.push_back(MemoryMeasure(name, drop++));
  }
  measures.push_back({{"GATES"}, GatesText});
  return measures;
}

}  // namespace

std::string RenderComparison(const std::vector<v1::Report>& reports,
                             const Style& style) {
  std::vector<Table::Column> columns = {{"TARGET"}};
  std::vector<std::vector<std::string>> rows;
  for (const v1::Report& report : reports) {
    rows.push_back({CleanText(report.target_name())});
  }
  for (const Measure& measure : Measures(reports)) {
    std::vector<std::string> cells;
    for (const v1::Report& report : reports) {
      cells.push_back(measure.text(report));
    }
    if (std::all_of(cells.begin(), cells.end(),
                    [](const std::string& cell) { return cell == kNothing; })) {
      continue;
    }
    columns.push_back(measure.column);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(cells[i]);
  }
  Table table(std::move(columns));
  for (std::vector<std::string>& row : rows) table.AddRow(std::move(row));
  std::string title = absl::StrCat(
      reports.empty() ? "" : CleanText(reports[0].model_name()), " on ",
      Count(static_cast<int64_t>(reports.size()), "target", "targets"));
  if (style.width() > 0) title = ClipMiddle(title, style.width());
  std::string out =
      absl::StrCat(style.Bold(title), "\n\n", table.Render(style));
  for (const v1::Report& report : reports) {
    for (const v1::Report::Gate& gate : report.gates()) {
      if (gate.passed()) continue;
      const std::string text =
          absl::StrCat("GATE BROKEN on ", CleanText(report.target_name()), ": ",
                       GateText(gate));
      for (const std::string& line : WrapWords(text, style.width())) {
        absl::StrAppend(&out, style.Red(line), "\n");
      }
    }
  }
  return out;
}

}  // namespace edgekiln::client
