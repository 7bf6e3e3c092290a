#include "client/check/describe.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "reports/metric.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr int kShownLayers = 5;

// Totals that say the same as others in other words.
bool IsShown(const v1::ReportDiff::Quantity& total) {
  return total.name() == "cycles" ||
         absl::StartsWith(total.name(), "memory.") ||
         absl::StartsWith(total.name(), "sections.");
}

std::string ChangeText(const v1::ReportDiff::Quantity& total) {
  std::string text =
      absl::StrCat(CleanText(total.name()), " ", GroupDigits(total.a()), " -> ",
                   GroupDigits(total.b()));
  if (total.has_percent()) {
    absl::StrAppendFormat(&text, " (%+.2f %%)", total.percent());
  }
  return text;
}

std::string LayerText(const v1::CheckBaseline::Layer& layer) {
  std::string text = CleanText(layer.id());
  if (layer.presence() == v1::ReportDiff::ADDED) {
    absl::StrAppend(&text, " is new");
  } else if (layer.presence() == v1::ReportDiff::REMOVED) {
    absl::StrAppend(&text, " is gone");
  }
  if (layer.change() != 0) {
    absl::StrAppend(&text, layer.change() > 0 ? " +" : " ",
                    GroupDigits(layer.change()), " cycles");
  }
  std::vector<std::string> differences;
  for (const std::string& difference : layer.differences()) {
    // Reasons are long, and the same for all layers of a change.
    if (absl::StartsWith(difference, "because ")) continue;
    differences.push_back(CleanText(difference));
  }
  if (!differences.empty()) {
    absl::StrAppend(&text, " (", absl::StrJoin(differences, ", "), ")");
  }
  return text;
}

// Each layer is a line of its own below the first one, and does not begin with
// its name: log readers obey lines that begin with "::".
void AddLayers(const v1::CheckBaseline& baseline,
               std::vector<std::string>& lines) {
  if (baseline.layers().empty()) return;
  lines.emplace_back("layers that changed:");
  const int shown = std::min(baseline.layers_size(), kShownLayers);
  for (int i = 0; i < shown; ++i) {
    lines.push_back(absl::StrCat("  - ", LayerText(baseline.layers(i))));
  }
  const int64_t more = baseline.layers_size() - shown + baseline.more_layers();
  if (more > 0) {
    lines.push_back(
        absl::StrCat("  and ", Count(more, "more layer", "more layers")));
  }
}

std::string AccuracyText(const v1::ReportDiff::Accuracy& accuracy) {
  const std::string metric = CleanText(accuracy.metric());
  std::string text = absl::StrCat(
      metric.empty() ? "accuracy" : metric, " ",
      accuracy.has_a() ? MetricValueText(metric, accuracy.a()) : "not measured",
      " -> ",
      accuracy.has_b() ? MetricValueText(metric, accuracy.b())
                       : "not measured");
  if (accuracy.has_points()) {
    absl::StrAppendFormat(&text, " (%+.2f points)", accuracy.points());
  }
  return text;
}

}  // namespace

std::string ErrorRule(const v1::CheckCell& cell) {
  switch (cell.state()) {
    case v1::CheckCell::FAILED:
      return kModelRule;
    case v1::CheckCell::SKIPPED:
      return kSkippedRule;
    default:
      return kServiceRule;
  }
}

std::string ErrorRule(const v1::CheckResult& result) {
  return result.verdict() == v1::CheckResult::FAILED ? kModelRule
                                                     : kServiceRule;
}

v1::CheckPlace ErrorPlace(const v1::CheckResult& result) {
  v1::CheckPlace place;
  place.set_file(result.file());
  // "edgekiln.txtpb:3:5".
  absl::string_view where = result.error().where();
  if (!absl::ConsumePrefix(&where, absl::StrCat(result.file(), ":"))) {
    return place;
  }
  const std::vector<std::string> numbers = absl::StrSplit(where, ':');
  int32_t line = 0;
  int32_t column = 0;
  if (numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &line) &&
      absl::SimpleAtoi(numbers[1], &column) && line > 0 && column > 0) {
    place.set_line(line);
    place.set_column(column);
  }
  return place;
}

std::string CellStateText(v1::CheckCell::State state) {
  return absl::AsciiStrToLower(v1::CheckCell::State_Name(state));
}

std::string BaselineStateText(v1::CheckBaseline::State state) {
  return absl::AsciiStrToLower(v1::CheckBaseline::State_Name(state));
}

std::string PlaceText(const v1::CheckPlace& place) {
  std::string text = CleanText(place.file());
  if (place.line() > 0) {
    absl::StrAppend(&text, ":", place.line(), ":", place.column());
  }
  return text;
}

std::string ErrorHeadline(const v1::ErrorDetail& error) {
  std::string what = CleanText(error.what());
  if (what.empty()) what = CleanText(error.message());
  return what.empty() ? "no reason was given" : what;
}

std::vector<std::string> DescribeError(const v1::ErrorDetail& error) {
  std::vector<std::string> lines = {ErrorHeadline(error)};
  const auto add = [&](absl::string_view name, const std::string& text) {
    if (text.empty()) return;
    lines.push_back(absl::StrCat(name, ": ", CleanText(text)));
  };
  add("where", error.where());
  add("limit", error.limit());
  add("need", error.need());
  add("fix", error.fix());
  add("reason", error.reason());
  return lines;
}

std::vector<std::string> DescribeCell(const v1::CheckCell& cell) {
  std::vector<std::string> lines;
  if (cell.has_error()) lines = DescribeError(cell.error());
  for (int i = 0; i < cell.findings_size(); ++i) {
    const v1::CheckFinding& finding = cell.findings(i);
    lines.push_back(
        absl::StrCat(finding.rule(), ": ", CleanText(finding.message())));
    lines.push_back(absl::StrCat("  at ", PlaceText(finding.place())));
    // Of several with the same one, behind the last.
    const bool again = i + 1 < cell.findings_size() &&
                       cell.findings(i + 1).fix() == finding.fix();
    if (!finding.fix().empty() && !again) {
      lines.push_back(absl::StrCat("  fix: ", CleanText(finding.fix())));
    }
  }
  for (std::string& line : DescribeChanges(cell)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> DescribeChanges(const v1::CheckCell& cell) {
  std::vector<std::string> lines;
  const v1::CheckBaseline& baseline = cell.baseline();
  std::vector<std::string> totals;
  for (const v1::ReportDiff::Quantity& total : baseline.totals()) {
    if (IsShown(total)) totals.push_back(ChangeText(total));
  }
  if (baseline.has_accuracy()) {
    totals.push_back(AccuracyText(baseline.accuracy()));
  }
  if (!totals.empty()) {
    lines.push_back(
        absl::StrCat("since the baseline: ", absl::StrJoin(totals, "; ")));
  }
  AddLayers(baseline, lines);
  if (baseline.caveats_size() > 0) {
    lines.push_back(
        absl::StrCat("other differences: ",
                     CleanText(absl::StrJoin(baseline.caveats(), "; "))));
  }
  return lines;
}

std::string CyclesChangeText(const v1::CheckCell& cell) {
  if (cell.baseline().state() == v1::CheckBaseline::UNCHANGED) return "same";
  if (cell.baseline().state() != v1::CheckBaseline::CHANGED) return "-";
  for (const v1::ReportDiff::Quantity& total : cell.baseline().totals()) {
    if (total.name() != "cycles") continue;
    return total.has_percent() ? absl::StrFormat("%+.2f %%", total.percent())
                               : "new";
  }
  return "same";
}

std::string CountsText(const v1::CheckResult& result) {
  const v1::CheckResult::Counts& counts = result.counts();
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, absl::string_view what) {
    if (count > 0) {
      parts.push_back(absl::StrCat(GroupDigits(count), " ", what));
    }
  };
  add(counts.passed(), "passed");
  add(counts.broken(), "broken");
  add(counts.failed(), "failed");
  add(counts.errors(), "not finished by a fault of the service");
  add(counts.skipped(), "skipped");
  std::string text = absl::StrCat(Count(counts.cells(), "cell", "cells"));
  if (!parts.empty()) {
    absl::StrAppend(&text, ": ", absl::StrJoin(parts, ", "));
  }
  parts.clear();
  const int64_t compared = std::count_if(
      result.cells().begin(), result.cells().end(), [](const auto& cell) {
        return cell.baseline().state() == v1::CheckBaseline::UNCHANGED;
      });
  add(compared, "the same");
  add(counts.changed(), "changed");
  add(counts.without_baseline(), "missing");
  add(result.written_size(), "written");
  add(result.removed_size(), "removed");
  if (!parts.empty()) {
    absl::StrAppend(&text, "; baselines: ", absl::StrJoin(parts, ", "));
  }
  return text;
}

}  // namespace edgekiln::client
