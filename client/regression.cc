#include "client/regression.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/render/metric.h"
#include "client/render/text.h"

namespace edgekiln::client {
namespace {

using Quantity = v1::ReportDiff::Quantity;

constexpr absl::string_view kMemoryPrefix = "memory.";
// Points are a difference of two rounded shares. Far below one sample of any
// data set.
constexpr double kPointsSlack = 1e-7;

// One quantity that got worse by more than its limit.
struct Regression {
  enum Kind { kGrowth, kLessAccurate, kNotMeasured };
  Kind kind;
  const v1::ReportDiff* diff;
  std::string what;
  std::string limit;
};

// "main.json to new.json, my_chip"; without the target where lines name it.
std::string SidesText(const v1::ReportDiff& diff, bool with_target) {
  std::string text = absl::StrCat(diff.a().source(), " to ", diff.b().source());
  if (with_target && !diff.b().target_name().empty()) {
    absl::StrAppend(&text, ", ", diff.b().target_name());
  }
  return text;
}

// Whether --max-regression is about that total. A target's memories are told
// by name; flash and RAM are two of them under other names.
bool IsLimited(const Quantity& total, bool has_memories) {
  if (total.name() == "cycles") return true;
  if (has_memories) return absl::StartsWith(total.name(), kMemoryPrefix);
  return total.name() == "flash_bytes" || total.name() == "ram_bytes";
}

// ", most in conv2 (+600)": the layer whose cycles grew most.
std::string SlowerLayer(const v1::ReportDiff& diff) {
  const v1::ReportDiff::Layer* worst = nullptr;
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    if (layer.change() <= 0) continue;
    if (worst == nullptr || layer.change() > worst->change()) worst = &layer;
  }
  if (worst == nullptr) return "";
  return absl::StrCat(", most in ", CleanText(worst->id()), " (+",
                      GroupDigits(worst->change()), ")");
}

void AddGrowth(const v1::ReportDiff& diff, double max_percent,
               std::vector<Regression>& found) {
  const bool has_memories = std::any_of(
      diff.totals().begin(), diff.totals().end(), [](const Quantity& total) {
        return absl::StartsWith(total.name(), kMemoryPrefix);
      });
  for (const Quantity& total : diff.totals()) {
    if (!IsLimited(total, has_memories)) continue;
    // From nothing to something is more than any percentage.
    const bool broken = total.has_percent() ? total.percent() > max_percent
                                            : total.b() > total.a();
    if (!broken) continue;
    std::string what =
        absl::StrCat(CleanText(total.name()), " grew from ",
                     GroupDigits(total.a()), " to ", GroupDigits(total.b()));
    if (total.has_percent()) {
      absl::StrAppendFormat(&what, " (%+.2f %%)", total.percent());
    }
    if (total.name() == "cycles") what += SlowerLayer(diff);
    found.push_back({Regression::kGrowth, &diff, std::move(what),
                     absl::StrFormat("--max-regression %g %%", max_percent)});
  }
}

void AddAccuracyDrop(const v1::ReportDiff& diff, double max_points,
                     std::vector<Regression>& found) {
  const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
  const bool not_measured = !accuracy.has_points();
  std::string what;
  if (not_measured && accuracy.has_a() && accuracy.has_b()) {
    what = accuracy.metric().empty()
               ? std::string(
                     "the reports have different metrics, which cannot "
                     "be compared")
               : absl::StrCat(CleanText(accuracy.metric()),
                              " is an error: it has no points to lose");
  } else if (not_measured) {
    what = absl::StrCat(
        "no accuracy in ",
        accuracy.has_a() ? diff.b().source()
        : accuracy.has_b()
            ? diff.a().source()
            : absl::StrCat(diff.a().source(), " and ", diff.b().source()),
        ": it cannot be compared");
  } else if (-accuracy.points() > max_points + kPointsSlack) {
    const std::string metric = CleanText(accuracy.metric());
    what =
        absl::StrCat(metric.empty() || metric == "top1" ? "accuracy" : metric,
                     " fell from ", MetricValueText(metric, accuracy.a()),
                     " to ", MetricValueText(metric, accuracy.b()),
                     absl::StrFormat(" (%+.2f points)", accuracy.points()));
  }
  if (what.empty()) return;
  found.push_back(
      {not_measured ? Regression::kNotMeasured : Regression::kLessAccurate,
       &diff, std::move(what),
       absl::StrFormat("--max-accuracy-drop %g", max_points)});
}

// What helps depends on what got worse: a table of layers knows no accuracy.
std::string Fix(const std::vector<Regression>& found) {
  const auto has = [&](Regression::Kind kind) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Regression& one) { return one.kind == kind; });
  };
  std::vector<std::string> steps;
  if (has(Regression::kGrowth)) {
    steps.push_back("look at the first layers of the table");
  }
  if (has(Regression::kLessAccurate)) {
    steps.push_back(
        "check that both were validated on the same data and calibration");
  }
  if (has(Regression::kNotMeasured)) {
    steps.push_back(
        "write both reports with edgekiln validate and labelled data (a float "
        "model needs --calibration, too)");
  }
  if (has(Regression::kGrowth) || has(Regression::kLessAccurate)) {
    steps.push_back(
        "if the change is wanted, write a new baseline: edgekiln report "
        "baseline");
  }
  return absl::StrJoin(steps, "; ");
}

}  // namespace

absl::Status CheckRegression(const std::vector<v1::ReportDiff>& diffs,
                             const RegressionLimits& limits) {
  std::vector<Regression> found;
  for (const v1::ReportDiff& diff : diffs) {
    if (limits.max_percent.has_value()) {
      AddGrowth(diff, *limits.max_percent, found);
    }
    if (limits.max_accuracy_drop.has_value()) {
      AddAccuracyDrop(diff, *limits.max_accuracy_drop, found);
    }
  }
  if (found.empty()) return absl::OkStatus();
  ErrorDetail detail{.fault = Fault::kUser,
                     .reason = kReasonGate,
                     .what = found.front().what,
                     .where = SidesText(*found.front().diff, found.size() == 1),
                     .limit = found.front().limit,
                     .fix = Fix(found)};
  if (found.size() == 1) {
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  detail.what = absl::StrCat(found.size(), " limits are broken");
  std::set<std::string> allowed;
  std::vector<std::string> lines;
  for (const Regression& one : found) {
    allowed.insert(one.limit);
    lines.push_back(absl::StrCat(one.diff->b().target_name(), ": ", one.what));
  }
  detail.limit = absl::StrJoin(allowed, ", ");
  return WithLines(
      MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail)),
      lines);
}

}  // namespace edgekiln::client
