#include "client/gate.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/option_values.h"
#include "reports/gate.h"
#include "reports/metric.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

using Gate = v1::Report::Gate;
using Layer = v1::Report::Layer;

constexpr absl::string_view kMemoryPrefix = "memory.";
constexpr char kAccuracy[] = "accuracy";
constexpr char kError[] = "error";
constexpr char kDisagreement[] = "disagreement";

// The id of the layer with the largest amount, the first of equals; empty if
// none has any.
std::string LargestLayer(const v1::Report& report,
                         int64_t (*amount)(const Layer&)) {
  const Layer* largest = nullptr;
  for (const Layer& layer : report.layers()) {
    if (amount(layer) <= 0) continue;
    if (largest == nullptr || amount(layer) > amount(*largest)) {
      largest = &layer;
    }
  }
  return largest == nullptr ? "" : largest->id();
}

std::string SlowestLayer(const v1::Report& report) {
  return LargestLayer(report,
                      [](const Layer& layer) { return layer.cycles(); });
}

// Layers only tell their scratchpad. It is this memory if no other could be,
// and if its peak is the one that they have.
std::string LayerAtPeak(const v1::Report& report, const v1::MemoryUse& use) {
  int64_t peak = 0;
  for (const Layer& layer : report.layers()) {
    peak = std::max(peak, layer.sram_bytes());
  }
  int matches = 0;
  for (const v1::MemoryUse& memory : report.memory().memories()) {
    matches += memory.used_bytes() == peak ? 1 : 0;
  }
  if (matches != 1 || use.used_bytes() != peak) return "";
  return LargestLayer(report,
                      [](const Layer& layer) { return layer.sram_bytes(); });
}

// Appends gates to one report.
class Judge {
 public:
  explicit Judge(v1::Report& report) : report_(report) {}

  void AtMost(std::string name, std::string unit, double limit,
              std::optional<double> value, std::string layer) {
    Gate& gate = Add(std::move(name), std::move(unit), limit, value);
    gate.set_layer(std::move(layer));
    gate.set_passed(value.has_value() && *value <= limit);
  }

  void AtLeast(std::string name, double limit, std::optional<double> value) {
    Gate& gate = Add(std::move(name), "", limit, value);
    gate.set_passed(value.has_value() && *value >= limit);
  }

 private:
  Gate& Add(std::string name, std::string unit, double limit,
            std::optional<double> value) {
    Gate& gate = *report_.add_gates();
    gate.set_name(std::move(name));
    gate.set_unit(std::move(unit));
    gate.set_limit(limit);
    if (value.has_value()) gate.set_value(*value);
    gate.set_target(report_.target_name());
    return gate;
  }

  v1::Report& report_;
};

void JudgeTotals(const Gates& gates, const v1::Report& report, Judge& judge) {
  const auto total = [&](auto value) {
    return report.has_totals()
               ? std::optional<double>(static_cast<double>(value))
               : std::nullopt;
  };
  if (gates.max_cycles.has_value()) {
    judge.AtMost("cycles", "cycles", static_cast<double>(*gates.max_cycles),
                 total(report.totals().cycles()), SlowestLayer(report));
  }
  if (gates.max_latency_ms.has_value()) {
    judge.AtMost("latency_ms", "ms", *gates.max_latency_ms,
                 total(report.totals().latency_ms()), SlowestLayer(report));
  }
}

void JudgeMemory(const Gates& gates, const v1::Report& report, Judge& judge) {
  const v1::Report::Memory& memory = report.memory();
  for (const MemoryLimit& limit : gates.max_memory) {
    const auto bytes = static_cast<double>(limit.bytes);
    const std::string name = absl::StrCat(kMemoryPrefix, limit.memory);
    for (const v1::MemoryUse& use : memory.memories()) {
      if (use.name() != limit.memory) continue;
      judge.AtMost(name, "bytes", bytes, static_cast<double>(use.used_bytes()),
                   LayerAtPeak(report, use));
    }
    // A daemon that does not tell memories by name yet.
    if (memory.memories().empty()) {
      judge.AtMost(name, "bytes", bytes, std::nullopt, "");
    }
  }
  if (gates.max_ram_bytes.has_value()) {
    judge.AtMost(
        "ram_bytes", "bytes", static_cast<double>(*gates.max_ram_bytes),
        report.has_memory()
            ? std::optional<double>(static_cast<double>(memory.ram_bytes()))
            : std::nullopt,
        "");
  }
}

// Agreement with the reference is no accuracy: data whose labels got lost must
// not keep the limit.
bool IsAccuracy(const v1::Report::Accuracy& accuracy) {
  return !accuracy.less_is_better() && accuracy.metric() != "agreement";
}

void JudgeAccuracy(const Gates& gates, const v1::Report& report, Judge& judge) {
  const v1::Report::Accuracy& accuracy = report.accuracy();
  const auto value = [](bool known, double measured) {
    return known ? std::optional<double>(measured) : std::nullopt;
  };
  if (gates.min_accuracy.has_value()) {
    judge.AtLeast(
        kAccuracy, *gates.min_accuracy,
        value(report.has_accuracy() && IsAccuracy(accuracy), accuracy.value()));
  }
  if (gates.max_error.has_value()) {
    const bool known = accuracy.less_is_better();
    judge.AtMost(kError, known ? accuracy.metric() : "", *gates.max_error,
                 value(known, accuracy.value()), "");
  }
  if (gates.max_disagreement.has_value()) {
    judge.AtMost(kDisagreement, "", *gates.max_disagreement,
                 value(accuracy.has_disagreement(),
                       accuracy.disagreement().interval().value()),
                 "");
  }
}

// USAGE if a memory that has a limit is in no target.
absl::Status CheckMemoryNames(const Gates& gates,
                              const std::vector<v1::Report>& reports) {
  std::set<std::string> known;
  std::vector<std::string> told;  // "dla-64: flash, ram, sram".
  for (const v1::Report& report : reports) {
    // It may have been in the target that failed, or is not known to this
    // daemon.
    if (report.has_error() || report.memory().memories().empty()) {
      return absl::OkStatus();
    }
    std::vector<std::string> names;
    for (const v1::MemoryUse& use : report.memory().memories()) {
      known.insert(use.name());
      names.push_back(use.name());
    }
    told.push_back(
        absl::StrCat(report.target_name(), ": ", absl::StrJoin(names, ", ")));
  }
  for (const MemoryLimit& limit : gates.max_memory) {
    if (known.contains(limit.memory)) continue;
    const std::string nearest =
        NearestOf(limit.memory, {known.begin(), known.end()});
    return UsageError(
        absl::StrCat("no target has a memory '", limit.memory, "'"),
        absl::StrCat("--max-memory ", limit.memory, "=", limit.bytes),
        absl::StrCat("a memory of the target: ", absl::StrJoin(told, "; ")),
        absl::StrCat("write for example --max-memory ",
                     nearest.empty() ? *known.begin() : nearest, "=",
                     limit.bytes));
  }
  return absl::OkStatus();
}

constexpr char kCalibrateBetter[] =
    "quantization costs it: calibrate with more samples, or with another "
    "--calibration-method";

std::string AccuracyFix(const v1::Report& report, const Gate& gate) {
  if (!gate.has_value()) {
    return "validate with labelled data, and with --calibration if the model "
           "is float";
  }
  return report.accuracy().reference_value() >= gate.limit()
             ? kCalibrateBetter
             : "the model has no more by itself: train it further, or ask for "
               "less";
}

// "1 limit of 3", "2 limits of 3".
std::string CountText(const std::vector<v1::Report>& reports,
                      const std::vector<GateFailure>& failures) {
  int64_t limits = 0;
  int64_t broken = 0;
  for (const v1::Report& report : reports) limits += report.gates_size();
  for (const GateFailure& failure : failures) {
    broken += failure.gate != nullptr ? 1 : 0;
  }
  const auto wrong = static_cast<int64_t>(failures.size()) - broken;
  std::string text;
  if (broken > 0) {
    text = absl::StrCat(GroupDigits(broken), " of ",
                        Count(limits, "limit", "limits"),
                        broken == 1 ? " is" : " are", " broken");
  }
  if (wrong > 0) {
    absl::StrAppend(&text, text.empty() ? "" : ", and ",
                    "values differ from the reference on ",
                    Count(wrong, "target", "targets"));
  }
  return text;
}

}  // namespace

absl::Status ApplyGates(const Gates& gates, std::vector<v1::Report>& reports) {
  EK_RETURN_IF_ERROR(CheckMemoryNames(gates, reports));
  for (v1::Report& report : reports) {
    if (report.has_error()) continue;
    Judge judge(report);
    JudgeTotals(gates, report, judge);
    JudgeMemory(gates, report, judge);
    JudgeAccuracy(gates, report, judge);
  }
  return absl::OkStatus();
}

std::vector<GateFailure> FindGateFailures(
    const std::vector<v1::Report>& reports) {
  std::vector<GateFailure> failures;
  for (const v1::Report& report : reports) {
    if (report.bit_exact().mismatches() != 0) failures.push_back({&report});
    for (const Gate& gate : report.gates()) {
      if (!gate.passed()) failures.push_back({&report, &gate});
    }
  }
  return failures;
}

std::string GateFailureText(const GateFailure& failure) {
  const v1::Report& report = *failure.report;
  if (failure.gate == nullptr) {
    const v1::Report::BitExact& exact = report.bit_exact();
    return absl::StrCat("the simulated chip differs from the reference in ",
                        GroupDigits(exact.mismatches()), " of ",
                        GroupDigits(exact.outputs_compared()), " values");
  }
  std::string text = GateText(*failure.gate);
  if (failure.gate->name() == kAccuracy && failure.gate->has_value() &&
      report.accuracy().reference() !=
          v1::Report::Accuracy::REFERENCE_UNSPECIFIED) {
    absl::StrAppend(&text, "; the reference has ",
                    MetricValueText(report.accuracy().metric(),
                                    report.accuracy().reference_value()));
  }
  return text;
}

std::string GateFailureFix(const GateFailure& failure) {
  if (failure.gate == nullptr) {
    return absl::StrCat(
        "this is a bug of edgekiln, unless the target brings kernels of its "
        "own: report it with the model and job ",
        failure.report->job_id());
  }
  if (failure.gate->name() == kAccuracy) {
    return AccuracyFix(*failure.report, *failure.gate);
  }
  if (failure.gate->name() == kError) {
    return failure.gate->has_value()
               ? kCalibrateBetter
               : "validate with --metric mse or mae, and with --calibration if "
                 "the model is float";
  }
  if (failure.gate->name() == kDisagreement) {
    return failure.gate->has_value()
               ? kCalibrateBetter
               : "validate a network whose first output is a vector of class "
                 "scores, with --calibration if it is float";
  }
  if (!failure.gate->has_value()) {
    return "use a daemon of this version, which tells every memory by name";
  }
  return "see what changed since an earlier report: edgekiln report diff OLD "
         "NEW";
}

absl::Status CheckGates(const std::vector<v1::Report>& reports) {
  const std::vector<GateFailure> failures = FindGateFailures(reports);
  if (failures.empty()) return absl::OkStatus();
  // A mismatch is our bug, a limit that is broken the user's news.
  const auto worst =
      std::find_if(failures.begin(), failures.end(),
                   [](const GateFailure& f) { return f.gate == nullptr; });
  const bool ours = worst != failures.end();
  const GateFailure& first = ours ? *worst : failures.front();
  ErrorDetail detail{.fault = ours ? Fault::kInfra : Fault::kUser,
                     .reason = kReasonGate,
                     .what = GateFailureText(first),
                     .where = first.report->target_name(),
                     .limit = ours ? "0 mismatches" : "",
                     .fix = GateFailureFix(first)};
  if (ours) {
    absl::StrAppend(&detail.where, ": ",
                    first.report->bit_exact().first_mismatch());
  }
  if (failures.size() == 1) {
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  detail.what = CountText(reports, failures);
  if (!ours) detail.where.clear();
  std::vector<std::string> lines;
  for (const GateFailure& failure : failures) {
    lines.push_back(absl::StrCat(failure.report->target_name(), ": ",
                                 GateFailureText(failure)));
  }
  return WithLines(
      MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail)),
      lines);
}

}  // namespace edgekiln::client
