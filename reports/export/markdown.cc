#include "reports/export/markdown.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"
#include "reports/export/markdown_text.h"
#include "reports/headline.h"
#include "reports/metric.h"
#include "reports/text/text.h"
#include "reports/verdict.h"

namespace edgekiln {
namespace {

// More layers are in --format csv.
constexpr size_t kShownLayers = 10;

std::string Totals(const v1::Report& report) {
  const v1::Report::Totals& totals = report.totals();
  std::string out =
      MarkdownRow({"total", "value"}) + MarkdownRow({"---", "---:"});
  if (totals.cycles() > 0) {
    std::string cycles = GroupDigits(totals.cycles());
    if (totals.fidelity() != v1::FIDELITY_UNSPECIFIED) {
      absl::StrAppend(&cycles, " (", FidelityText(totals.fidelity()), ")");
    }
    out += MarkdownRow({"cycles", cycles});
    out += MarkdownRow({"latency", LatencyText(totals.latency_ms())});
  }
  if (totals.macs() > 0)
    out += MarkdownRow({"MACs", GroupDigits(totals.macs())});
  for (const v1::MemoryUse& use : report.memory().memories()) {
    out += MarkdownRow({MarkdownCode(use.name()),
                        absl::StrCat(FormatBytes(use.used_bytes()), " of ",
                                     FormatBytes(use.capacity_bytes()))});
  }
  if (report.has_accuracy()) {
    const v1::Report::Accuracy& accuracy = report.accuracy();
    std::string value = MetricValueText(accuracy.metric(), accuracy.value());
    if (accuracy.has_interval()) {
      absl::StrAppend(&value, " ", IntervalText(accuracy.interval()));
    }
    out += MarkdownRow({MarkdownText(accuracy.metric()), value});
  }
  return out;
}

std::string CostliestLayers(const v1::Report& report) {
  std::vector<const v1::Report::Layer*> layers;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (layer.cycles() > 0) layers.push_back(&layer);
  }
  if (layers.empty() || report.totals().cycles() <= 0) return "";
  std::stable_sort(
      layers.begin(), layers.end(),
      [](const auto* a, const auto* b) { return a->cycles() > b->cycles(); });
  std::string out = "\n";
  out += MarkdownRow({"layer", "op", "engine", "cycles", "share"});
  out += MarkdownRow({"---", "---", "---", "---:", "---:"});
  for (size_t i = 0; i < std::min(layers.size(), kShownLayers); ++i) {
    const v1::Report::Layer& layer = *layers[i];
    out += MarkdownRow(
        {MarkdownCode(layer.id()), MarkdownCode(layer.op()),
         MarkdownCode(layer.engine()), GroupDigits(layer.cycles()),
         FormatPercent(static_cast<double>(layer.cycles()) /
                           static_cast<double>(report.totals().cycles()),
                       1)});
  }
  if (layers.size() > kShownLayers) {
    absl::StrAppend(&out, "\n",
                    Count(static_cast<int64_t>(layers.size() - kShownLayers),
                          "more layer", "more layers"),
                    "\n");
  }
  return out;
}

std::string OneReport(const v1::Report& report) {
  std::string out = absl::StrCat("### ", MarkdownCode(report.model_name()));
  if (!report.target_name().empty()) {
    absl::StrAppend(&out, " on ", MarkdownCode(report.target_name()));
  }
  const Verdict verdict = VerdictOf(report);
  absl::StrAppend(&out, "\n\n**", MarkdownText(verdict.title), "**\n");
  std::vector<std::string> lines = verdict.details;
  if (std::string headline = Headline(report); !headline.empty()) {
    lines.push_back(std::move(headline));
  }
  lines.insert(lines.end(), report.warnings().begin(), report.warnings().end());
  if (!lines.empty()) out += "\n";
  for (const std::string& line : lines) {
    absl::StrAppend(&out, "- ", MarkdownText(line), "\n");
  }
  if (report.has_error()) return out;
  absl::StrAppend(&out, "\n", Totals(report), CostliestLayers(report));
  return out;
}

}  // namespace

std::string ReportsToMarkdown(const std::vector<v1::Report>& reports) {
  std::vector<std::string> parts;
  for (const v1::Report& report : reports) parts.push_back(OneReport(report));
  return absl::StrJoin(parts, "\n");
}

}  // namespace edgekiln
