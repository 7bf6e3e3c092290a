#include "client/regression.h"

#include <algorithm>
#include <optional>
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
#include "reports/metric.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

using Quantity = v1::ReportDiff::Quantity;

constexpr absl::string_view kMemoryPrefix = "memory.";
// Points are a difference of two rounded shares. Far below one sample of any
// data set.
constexpr double kPointsSlack = 1e-7;

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

// The layer whose cycles grew most, for `found`.
void NameSlowerLayer(const v1::ReportDiff& diff, Regression& found) {
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    if (layer.change() <= found.layer_change) continue;
    found.layer = layer.id();
    found.layer_change = layer.change();
  }
}

// The layer at the peak of a scratchpad, which is all that layers tell: the
// memory is one if its use is that peak, and no other memory's is.
void NameLayerAtPeak(const v1::ReportDiff& diff, const Quantity& total,
                     Regression& found) {
  const v1::ReportDiff::Layer* largest = nullptr;
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    if (layer.b().sram_bytes() <= 0) continue;
    if (largest == nullptr ||
        layer.b().sram_bytes() > largest->b().sram_bytes()) {
      largest = &layer;
    }
  }
  if (largest == nullptr) return;
  const int64_t peak = largest->b().sram_bytes();
  const auto matches = std::count_if(
      diff.totals().begin(), diff.totals().end(), [&](const Quantity& one) {
        return absl::StartsWith(one.name(), kMemoryPrefix) && one.b() == peak;
      });
  if (matches != 1 || total.b() != peak) return;
  found.layer = largest->id();
  found.layer_change = peak - largest->a().sram_bytes();
}

void AddGrowth(const v1::ReportDiff& diff, const RegressionBounds& bounds,
               std::vector<Regression>& found) {
  const bool has_memories = std::any_of(
      diff.totals().begin(), diff.totals().end(), [](const Quantity& total) {
        return absl::StartsWith(total.name(), kMemoryPrefix);
      });
  for (const Quantity& total : diff.totals()) {
    if (!IsLimited(total, has_memories)) continue;
    const bool cycles = total.name() == "cycles";
    const std::optional<double>& bound =
        cycles ? bounds.cycles_percent : bounds.memory_percent;
    if (!bound.has_value()) continue;
    // From nothing to something is more than any percentage.
    const bool broken =
        total.has_percent() ? total.percent() > *bound : total.b() > total.a();
    if (!broken) continue;
    Regression one{.kind = cycles ? Regression::kCycles : Regression::kMemory,
                   .diff = &diff,
                   .quantity = total.name(),
                   .bound = *bound};
    one.what =
        absl::StrCat(CleanText(total.name()), " grew from ",
                     GroupDigits(total.a()), " to ", GroupDigits(total.b()));
    if (total.has_percent()) {
      absl::StrAppendFormat(&one.what, " (%+.2f %%)", total.percent());
    }
    if (cycles) {
      NameSlowerLayer(diff, one);
      if (!one.layer.empty()) {
        absl::StrAppend(&one.what, ", most in ", CleanText(one.layer), " (+",
                        GroupDigits(one.layer_change), ")");
      }
    } else {
      NameLayerAtPeak(diff, total, one);
    }
    found.push_back(std::move(one));
  }
}

// Why there are no points to compare.
std::string NotMeasuredText(const v1::ReportDiff& diff) {
  const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
  if (accuracy.has_a() && accuracy.has_b()) {
    return accuracy.metric().empty()
               ? "the reports have different metrics, which cannot be compared"
               : absl::StrCat(CleanText(accuracy.metric()),
                              " is an error: it has no points to lose");
  }
  const std::string without =
      accuracy.has_a() ? diff.b().source()
      : accuracy.has_b()
          ? diff.a().source()
          : absl::StrCat(diff.a().source(), " and ", diff.b().source());
  return absl::StrCat("no accuracy in ", without, ": it cannot be compared");
}

void AddAccuracyDrop(const v1::ReportDiff& diff, double max_points,
                     std::vector<Regression>& found) {
  const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
  Regression one{.kind = Regression::kNotMeasured,
                 .diff = &diff,
                 .quantity = "accuracy",
                 .bound = max_points};
  if (!accuracy.has_points()) {
    one.what = NotMeasuredText(diff);
  } else if (-accuracy.points() > max_points + kPointsSlack) {
    one.kind = Regression::kLessAccurate;
    const std::string metric = CleanText(accuracy.metric());
    one.what =
        absl::StrCat(metric.empty() || metric == "top1" ? "accuracy" : metric,
                     " fell from ", MetricValueText(metric, accuracy.a()),
                     " to ", MetricValueText(metric, accuracy.b()),
                     absl::StrFormat(" (%+.2f points)", accuracy.points()));
  } else {
    return;
  }
  found.push_back(std::move(one));
}

// The option that sets the bound.
std::string LimitText(const Regression& one) {
  const bool growth =
      one.kind == Regression::kCycles || one.kind == Regression::kMemory;
  return growth ? absl::StrFormat("--max-regression %g %%", one.bound)
                : absl::StrFormat("--max-accuracy-drop %g", one.bound);
}

// What helps depends on what got worse: a table of layers knows no accuracy.
std::string Fix(const std::vector<Regression>& found) {
  const auto has = [&](Regression::Kind kind) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Regression& one) { return one.kind == kind; });
  };
  const bool growth = has(Regression::kCycles) || has(Regression::kMemory);
  std::vector<std::string> steps;
  if (growth) {
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
  if (growth || has(Regression::kLessAccurate)) {
    steps.push_back(
        "if the change is wanted, write a new baseline: edgekiln report "
        "baseline");
  }
  return absl::StrJoin(steps, "; ");
}

}  // namespace

std::vector<Regression> FindRegressions(const v1::ReportDiff& diff,
                                        const RegressionBounds& bounds) {
  std::vector<Regression> found;
  AddGrowth(diff, bounds, found);
  if (bounds.accuracy_points.has_value()) {
    AddAccuracyDrop(diff, *bounds.accuracy_points, found);
  }
  return found;
}

absl::Status CheckRegression(const std::vector<v1::ReportDiff>& diffs,
                             const RegressionLimits& limits) {
  const RegressionBounds bounds{.cycles_percent = limits.max_percent,
                                .memory_percent = limits.max_percent,
                                .accuracy_points = limits.max_accuracy_drop};
  std::vector<Regression> found;
  for (const v1::ReportDiff& diff : diffs) {
    for (Regression& one : FindRegressions(diff, bounds)) {
      found.push_back(std::move(one));
    }
  }
  if (found.empty()) return absl::OkStatus();
  ErrorDetail detail{.fault = Fault::kUser,
                     .reason = kReasonGate,
                     .what = found.front().what,
                     .where = SidesText(*found.front().diff, found.size() == 1),
                     .limit = LimitText(found.front()),
                     .fix = Fix(found)};
  if (found.size() == 1) {
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  detail.what = absl::StrCat(found.size(), " limits are broken");
  std::set<std::string> allowed;
  std::vector<std::string> lines;
  for (const Regression& one : found) {
    allowed.insert(LimitText(one));
    lines.push_back(absl::StrCat(one.diff->b().target_name(), ": ", one.what));
  }
  detail.limit = absl::StrJoin(allowed, ", ");
  return WithLines(
      MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail)),
      lines);
}

}  // namespace edgekiln::client
