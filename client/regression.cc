#include "client/regression.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
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
  const v1::ReportDiff* diff;
  std::string what;
  std::string limit;
  std::string fix;
};

constexpr char kCompareLayers[] =
    "look at the first layers of the table; if the change is wanted, write a "
    "new baseline: edgekiln report baseline";
constexpr char kMeasureBoth[] =
    "compare reports of `edgekiln validate` with labelled data, and with "
    "--calibration if the model is float";

std::string SidesText(const v1::ReportDiff& diff) {
  std::string text = absl::StrCat(diff.a().source(), " to ", diff.b().source());
  if (!diff.b().target_name().empty()) {
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
    found.push_back({&diff, std::move(what),
                     absl::StrFormat("--max-regression %g %%", max_percent),
                     kCompareLayers});
  }
}

void AddAccuracyDrop(const v1::ReportDiff& diff, double max_points,
                     std::vector<Regression>& found) {
  const v1::ReportDiff::Accuracy& accuracy = diff.accuracy();
  std::string what;
  const bool measured = accuracy.has_a() && accuracy.has_b();
  if (!measured) {
    what = absl::StrCat(
        "no accuracy in ",
        accuracy.has_a() ? diff.b().source()
        : accuracy.has_b()
            ? diff.a().source()
            : absl::StrCat(diff.a().source(), " and ", diff.b().source()),
        ": it cannot be compared");
  } else if (-accuracy.points() > max_points + kPointsSlack) {
    what = absl::StrCat("accuracy fell from ", FormatPercent(accuracy.a(), 2),
                        " to ", FormatPercent(accuracy.b(), 2),
                        absl::StrFormat(" (%+.2f points)", accuracy.points()));
  }
  if (what.empty()) return;
  found.push_back({&diff, std::move(what),
                   absl::StrFormat("--max-accuracy-drop %g", max_points),
                   measured ? kCompareLayers : kMeasureBoth});
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
                     .where = SidesText(*found.front().diff),
                     .limit = found.front().limit,
                     .fix = found.front().fix};
  if (found.size() == 1) {
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  detail.what = absl::StrCat(found.size(),
                             " quantities got worse by more than "
                             "allowed");
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
