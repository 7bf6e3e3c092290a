#include "client/render/report_diff.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "reports/metric.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxNameWidth = 48;

std::string Signed(int64_t change) {
  return change > 0 ? absl::StrCat("+", GroupDigits(change))
                    : GroupDigits(change);
}

std::string PercentText(double percent) {
  return absl::StrFormat("%+.1f", percent);
}

// A table whose rows are coloured by how good their change is. Cells cannot
// hold colours: they are cleaned.
class ChangeTable {
 public:
  explicit ChangeTable(std::vector<Table::Column> columns)
      : table_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells, int64_t change) {
    table_.AddRow(std::move(cells));
    changes_.push_back(change);
  }

  std::string Render(const Style& style) const {
    const std::string text = table_.Render(style);
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (size_t row = 0; row < changes_.size(); ++row) {
      std::string& line = lines[row + 1];  // Behind the titles.
      if (changes_[row] > 0) line = style.Red(line);
      if (changes_[row] < 0) line = style.Green(line);
    }
    return absl::StrJoin(lines, "\n");
  }

 private:
  Table table_;
  std::vector<int64_t> changes_;
};

std::string SideText(const v1::ReportDiff::Side& side) {
  std::string text = CleanText(side.source());
  absl::StrAppend(&text, "   ", CleanText(side.model_name()));
  if (!side.target_name().empty()) {
    absl::StrAppend(&text, " on ", CleanText(side.target_name()));
  }
  return text;
}

std::string Totals(const v1::ReportDiff& diff, const Style& style) {
  ChangeTable table({{"TOTAL"},
                     {"A", Align::kRight},
                     {"B", Align::kRight},
                     {"CHANGE", Align::kRight},
                     {.title = "%", .align = Align::kRight, .drop = 1}});
  const auto add = [&table](const v1::ReportDiff::Quantity& total) {
    table.AddRow({CleanText(total.name()), GroupDigits(total.a()),
                  GroupDigits(total.b()),
                  total.change() == 0 ? "-" : Signed(total.change()),
                  total.has_percent() && total.change() != 0
                      ? PercentText(total.percent())
                      : "-"},
                 total.change());
  };
  // Said once: by the names of the target's memories, where both have them.
  const auto& totals = diff.totals();
  const bool named =
      std::any_of(totals.begin(), totals.end(), [](const auto& total) {
        return absl::StartsWith(total.name(), "memory.");
      });
  for (const v1::ReportDiff::Quantity& total : totals) {
    const bool unnamed = total.name() == "flash_bytes" ||
                         total.name() == "ram_bytes" ||
                         total.name() == "sram_peak_bytes";
    if (!named || !unnamed) add(total);
  }
  if (diff.has_mismatches()) add(diff.mismatches());
  if (diff.has_accuracy()) {
    const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
    const std::string metric = CleanText(accuracy.metric());
    // A caveat names them; here are the numbers alone.
    const bool different =
        accuracy.has_a() && accuracy.has_b() && !accuracy.has_change();
    const auto shown = [&](bool known, double value) {
      if (!known) return std::string("-");
      return different ? absl::StrFormat("%.4g", value)
                       : MetricValueText(metric, value);
    };
    const double change = accuracy.has_change() ? accuracy.change() : 0;
    std::string text = "-";
    if (change != 0) {
      text = IsShare(metric) ? absl::StrFormat("%+.2f points", 100 * change)
                             : absl::StrFormat("%+.4g", change);
    }
    const double worse = accuracy.less_is_better() ? change : -change;
    table.AddRow({metric.empty() || metric == "top1" ? "accuracy" : metric,
                  shown(accuracy.has_a(), accuracy.a()),
                  shown(accuracy.has_b(), accuracy.b()), std::move(text), "-"},
                 worse > 0   ? 1
                 : worse < 0 ? -1
                             : 0);
  }
  return table.Render(style);
}

std::string CyclesText(bool there, const v1::Report::Layer& layer) {
  return there ? GroupDigits(layer.cycles()) : std::string("-");
}

std::string WhatElse(const v1::ReportDiff::Layer& layer) {
  switch (layer.presence()) {
    case v1::ReportDiff::ADDED:
      return absl::StrCat("added, on ", layer.b().engine());
    case v1::ReportDiff::REMOVED:
      return absl::StrCat("removed, was on ", layer.a().engine());
    default:
      return absl::StrJoin(layer.differences(), ", ");
  }
}

std::string Layers(const v1::ReportDiff& diff, const Style& style) {
  ChangeTable table({{"LAYER"},
                     {.title = "CYCLES A", .align = Align::kRight, .drop = 2},
                     {"CYCLES B", Align::kRight},
                     {"CHANGE", Align::kRight},
                     {.title = "%", .align = Align::kRight, .drop = 1},
                     {.title = "WHAT ELSE", .drop = 3}});
  int64_t same = 0;
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    const std::string what = WhatElse(layer);
    if (layer.change() == 0 && what.empty()) {
      ++same;
      continue;
    }
    const bool comparable = layer.a().cycles() > 0 && layer.has_b();
    table.AddRow(
        {ClipMiddle(CleanText(layer.id()), kMaxNameWidth),
         CyclesText(layer.has_a(), layer.a()),
         CyclesText(layer.has_b(), layer.b()),
         layer.change() == 0 ? "-" : Signed(layer.change()),
         comparable && layer.change() != 0
             ? PercentText(100.0 * static_cast<double>(layer.change()) /
                           static_cast<double>(layer.a().cycles()))
             : "-",
         what},
        layer.change());
  }
  std::string out;
  if (same < diff.layers_size()) out = table.Render(style);
  if (same > 0) {
    absl::StrAppend(&out, Count(same, "layer", "layers"),
                    " without a change\n");
  }
  return out;
}

}  // namespace

std::string RenderReportDiff(const v1::ReportDiff& diff, const Style& style) {
  std::string out;
  const auto side = [&](absl::string_view name,
                        const v1::ReportDiff::Side& shown) {
    const int width = style.width() > 0 ? std::max(style.width() - 3, 1) : 0;
    std::string front = absl::StrCat(style.Bold(name), "  ");
    for (const std::string& line : WrapWords(SideText(shown), width)) {
      absl::StrAppend(&out, front, line, "\n");
      front = "   ";
    }
  };
  side("A", diff.a());
  side("B", diff.b());
  for (const std::string& caveat : diff.caveats()) {
    for (const std::string& line :
         WrapWords(CleanText(caveat), style.width())) {
      absl::StrAppend(&out, style.Yellow(line), "\n");
    }
  }
  absl::StrAppend(&out, "\n", Totals(diff, style));
  if (diff.layers_size() > 0) absl::StrAppend(&out, "\n", Layers(diff, style));
  return out;
}

}  // namespace edgekiln::client
