#include "server/accuracy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/report_builder.h"

namespace edgekiln::server {
namespace {

using Samples = v1::StageSummary::Samples;
using Accuracy = v1::Report::Accuracy;

constexpr char kNeedsLabels[] =
    "an array `y` with a class index per sample; IDX labels as "
    "--data SAMPLES,LABELS";

absl::Status CannotMeasure(const std::string& what, std::string need,
                           std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "METRIC",
                    .what = what,
                    .where = "--metric, options.metric",
                    .need = std::move(need),
                    .fix = std::move(fix)});
}

// The user's error unless the network gives class scores, of samples that have
// labels if `labels`.
absl::Status CheckClasses(const std::string& what, bool labels,
                          const v1::StageSummary::Data& data) {
  if (data.classes() == 0) {
    return CannotMeasure(
        absl::StrCat(what,
                     " is of classes, and the network has none: its "
                     "first output is not a vector of class scores, or one "
                     "of several outputs of data without labels"),
        "a classifier",
        data.reconstructs()
            ? "use --metric auc for an auto-encoder with labels 0 and 1; mse, "
              "mae or cosine compare its outputs with the reference's"
            : "use --metric mse, mae or cosine, which compare outputs with the "
              "reference's");
  }
  if (labels && data.labelled() == 0) {
    return CannotMeasure(
        absl::StrCat(what, " needs labels, and the data set has none"),
        kNeedsLabels,
        "add labels, or use --metric agreement, which compares the classes "
        "with the reference's");
  }
  return absl::OkStatus();
}

absl::Status CheckConfusion(const v1::StageSummary::Data& data) {
  EK_RETURN_IF_ERROR(CheckClasses("a confusion matrix", true, data));
  if (data.classes() <= kMaxConfusionClasses) return absl::OkStatus();
  return CannotMeasure(
      absl::StrCat("a confusion matrix of ", data.classes(), " classes"),
      absl::StrCat("at most ", kMaxConfusionClasses, " classes"),
      "leave --confusion out");
}

bool HasBothLabels(const v1::StageSummary::Data& data) {
  return data.labelled() > 0 && data.smallest_label() == 0 &&
         data.largest_label() == 1;
}

absl::Status CheckAuc(const v1::StageSummary::Data& data) {
  if (!data.reconstructs()) {
    return CannotMeasure(
        "auc ranks samples by the reconstruction error of an auto-encoder, and "
        "the network's first output has another shape than its first input",
        "an auto-encoder",
        data.classes() > 0 ? "use --metric top1 or agreement"
                           : "use --metric mse, mae or cosine");
  }
  if (HasBothLabels(data)) return absl::OkStatus();
  return CannotMeasure(
      data.labelled() == 0
          ? "auc needs labels, and the data set has none"
          : absl::StrCat("auc needs samples with label 0 and with label 1, and "
                         "the labels are ",
                         data.smallest_label(), " to ", data.largest_label()),
      "an array `y`: 0 = normal, 1 = anomaly, -1 = not counted",
      "add such labels, raise --limit if it cuts off one of the two, or use "
      "--metric mse");
}

absl::Status CheckMetric(v1::Metric metric,
                         const v1::StageSummary::Data& data) {
  switch (metric) {
    case v1::METRIC_TOP1:
      return CheckClasses("top1", true, data);
    case v1::METRIC_TOP5:
      EK_RETURN_IF_ERROR(CheckClasses("top5", true, data));
      if (data.classes() >= kMinTop5Classes) return absl::OkStatus();
      return CannotMeasure(
          absl::StrCat("top5 of ", data.classes(), " classes says little"),
          absl::StrCat("at least ", kMinTop5Classes, " classes"),
          "use --metric top1");
    case v1::METRIC_AGREEMENT:
      return CheckClasses("agreement", false, data);
    case v1::METRIC_AUC:
      return CheckAuc(data);
    default:
      return absl::OkStatus();
  }
}

absl::Status Unequal(absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("chip and reference tell of different samples: ", what));
}

absl::Status AddDisagreement(const Measurement& measured, Accuracy& accuracy) {
  const auto& chip = measured.chip.predicted();
  const auto& reference = measured.reference.predicted();
  const auto& labels = measured.reference.label();
  if (chip.empty() && reference.empty()) return absl::OkStatus();
  if (chip.size() != reference.size() ||
      (!labels.empty() && labels.size() != chip.size())) {
    return Unequal("classes");
  }
  Accuracy::Disagreement& out = *accuracy.mutable_disagreement();
  out.set_samples(chip.size());
  for (int i = 0; i < chip.size(); ++i) {
    if (chip.Get(i) == reference.Get(i)) continue;
    out.set_count(out.count() + 1);
    if (out.sample_size() < kMaxDisagreeing) out.add_sample(i);
    if (labels.empty() || labels.Get(i) < 0) continue;
    if (labels.Get(i) == chip.Get(i)) {
      out.set_wrong_to_right(out.wrong_to_right() + 1);
    } else if (labels.Get(i) == reference.Get(i)) {
      out.set_right_to_wrong(out.right_to_wrong() + 1);
    }
  }
  *out.mutable_interval() = IntervalOf(out.count(), out.samples());
  return absl::OkStatus();
}

absl::Status AddConfusion(const Measurement& measured, Accuracy& accuracy) {
  const auto& predicted = measured.chip.predicted();
  const auto& labels = measured.reference.label();
  if (predicted.size() != labels.size()) return Unequal("labels");
  std::map<std::pair<int32_t, int32_t>, int64_t> counts;
  for (int i = 0; i < labels.size(); ++i) {
    if (labels.Get(i) >= 0) ++counts[{labels.Get(i), predicted.Get(i)}];
  }
  Accuracy::Confusion& confusion = *accuracy.mutable_confusion();
  confusion.set_classes(static_cast<int32_t>(measured.chip.classes()));
  for (const auto& [key, count] : counts) {
    Accuracy::Confusion::Cell& cell = *confusion.add_cells();
    cell.set_label(key.first);
    cell.set_predicted(key.second);
    cell.set_count(count);
  }
  return absl::OkStatus();
}

// The mean score of the samples with that label; of all if it is -1.
double MeanScore(const Samples& scores, const Samples& labels, int32_t label) {
  double sum = 0;
  int64_t count = 0;
  for (int i = 0; i < scores.score_size(); ++i) {
    if (label >= 0 && labels.label(i) != label) continue;
    sum += scores.score(i);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

absl::Status AddAuc(const Measurement& measured, Accuracy& accuracy) {
  const Samples& chip = measured.chip_scores;
  const Samples& reference = measured.reference_scores;
  if (chip.score_size() != chip.label_size() ||
      reference.score_size() != chip.label_size()) {
    return Unequal("scores");
  }
  accuracy.set_value(AreaUnderCurve(chip.score(), chip.label()));
  accuracy.set_reference_value(AreaUnderCurve(reference.score(), chip.label()));
  Accuracy::Anomalies& anomalies = *accuracy.mutable_anomalies();
  const auto& labels = chip.label();
  anomalies.set_normal(std::count(labels.begin(), labels.end(), 0));
  anomalies.set_anomalous(std::count(labels.begin(), labels.end(), 1));
  // ChooseMetric() has seen both.
  if (anomalies.normal() == 0 || anomalies.anomalous() == 0) {
    return Unequal("no pairs");
  }
  accuracy.set_samples(anomalies.normal() + anomalies.anomalous());
  anomalies.set_normal_error(MeanScore(chip, chip, 0));
  anomalies.set_anomalous_error(MeanScore(chip, chip, 1));
  anomalies.set_reference_normal_error(MeanScore(reference, chip, 0));
  anomalies.set_reference_anomalous_error(MeanScore(reference, chip, 1));
  return absl::OkStatus();
}

// A metric that is a share of samples, on both sides.
void AddShares(int64_t chip, int64_t reference, int64_t samples,
               Accuracy& accuracy) {
  *accuracy.mutable_interval() = IntervalOf(chip, samples);
  *accuracy.mutable_reference_interval() = IntervalOf(reference, samples);
  accuracy.set_value(accuracy.interval().value());
  accuracy.set_reference_value(accuracy.reference_interval().value());
  accuracy.set_samples(samples);
}

// What top1 and top5 need.
absl::Status CheckLabelled(const Measurement& measured) {
  if (measured.chip.labelled() > 0 &&
      measured.chip.labelled() == measured.reference.labelled()) {
    return absl::OkStatus();
  }
  return Unequal("labelled ones");
}

void AddTop5(const Measurement& measured, Accuracy& accuracy) {
  if (measured.chip.classes() < kMinTop5Classes) return;
  const int64_t labelled = measured.chip.labelled();
  *accuracy.mutable_top5_interval() =
      IntervalOf(measured.chip.correct_top5(), labelled);
  *accuracy.mutable_top5_reference_interval() =
      IntervalOf(measured.reference.correct_top5(), labelled);
  accuracy.set_top5_value(accuracy.top5_interval().value());
  accuracy.set_top5_reference_value(accuracy.top5_reference_interval().value());
}

absl::Status AddMetric(const Measurement& measured, Accuracy& accuracy) {
  const Samples& chip = measured.chip;
  switch (measured.metric) {
    case v1::METRIC_TOP1:
      EK_RETURN_IF_ERROR(CheckLabelled(measured));
      AddShares(chip.correct(), measured.reference.correct(), chip.labelled(),
                accuracy);
      AddTop5(measured, accuracy);
      return absl::OkStatus();
    case v1::METRIC_TOP5:
      EK_RETURN_IF_ERROR(CheckLabelled(measured));
      AddShares(chip.correct_top5(), measured.reference.correct_top5(),
                chip.labelled(), accuracy);
      AddTop5(measured, accuracy);
      return absl::OkStatus();
    case v1::METRIC_AGREEMENT: {
      const auto& disagreement = accuracy.disagreement();
      if (disagreement.samples() == 0) return Unequal("none has a class");
      const int64_t agreeing = disagreement.samples() - disagreement.count();
      AddShares(agreeing, disagreement.samples(), disagreement.samples(),
                accuracy);
      // The reference agrees with itself: nothing was measured.
      accuracy.clear_reference_interval();
      return absl::OkStatus();
    }
    case v1::METRIC_AUC:
      return AddAuc(measured, accuracy);
    default:
      accuracy.set_samples(measured.chip_scores.score_size());
      accuracy.set_value(
          MeanScore(measured.chip_scores, measured.chip_scores, -1));
      accuracy.set_less_is_better(measured.metric != v1::METRIC_COSINE);
      accuracy.set_reference_value(accuracy.less_is_better() ? 0 : 1);
      return absl::OkStatus();
  }
}

}  // namespace

bool AsksForMetric(const v1::JobOptions& options) {
  return options.metric() != v1::METRIC_UNSPECIFIED || options.confusion();
}

absl::StatusOr<v1::Metric> ChooseMetric(const v1::JobOptions& options,
                                        const v1::StageSummary::Data& data) {
  if (options.confusion()) EK_RETURN_IF_ERROR(CheckConfusion(data));
  if (options.metric() != v1::METRIC_UNSPECIFIED) {
    EK_RETURN_IF_ERROR(CheckMetric(options.metric(), data));
    return options.metric();
  }
  if (data.classes() > 0) {
    return data.labelled() > 0 ? v1::METRIC_TOP1 : v1::METRIC_AGREEMENT;
  }
  return data.reconstructs() && HasBothLabels(data) ? v1::METRIC_AUC
                                                    : v1::METRIC_MSE;
}

std::string NoteOn(v1::Metric metric, const v1::JobOptions& options,
                   const v1::StageSummary::Data& data) {
  if (options.metric() != v1::METRIC_UNSPECIFIED) return "";
  const char* measured = nullptr;
  if (metric == v1::METRIC_AGREEMENT) {
    measured = "how often its classes agree with the reference's";
  } else if (metric == v1::METRIC_MSE) {
    measured = "how far its outputs are from the reference's";
  } else {
    return "";
  }
  return absl::StrCat(
      data.labelled() == 0 ? "the data set has no labels"
      : data.reconstructs()
          ? "the labels are not both 0 (normal) and 1 (anomaly), which "
            "auto-encoders need"
          : "the labels are not used, as the network's first output is not a "
            "vector of class scores",
      ": accuracy is not measured, but ", measured);
}

std::string NameOf(v1::Metric metric) {
  const std::string name = v1::Metric_Name(metric);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "METRIC_"));
}

bool NeedsScores(v1::Metric metric) {
  return metric == v1::METRIC_MSE || metric == v1::METRIC_MAE ||
         metric == v1::METRIC_COSINE || metric == v1::METRIC_AUC;
}

double AreaUnderCurve(absl::Span<const double> scores,
                      absl::Span<const int32_t> labels) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (labels[i] == 0 || labels[i] == 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  // Pairs count twice, so that ties count once and all stay whole.
  int64_t twice_won = 0;
  int64_t normal = 0;  // With lower scores than the group's.
  int64_t anomalous = 0;
  for (size_t first = 0; first < order.size();) {
    int64_t group[2] = {0, 0};
    size_t end = first;
    while (end < order.size() && scores[order[end]] == scores[order[first]]) {
      ++group[labels[order[end++]]];
    }
    twice_won += group[1] * (2 * normal + group[0]);
    normal += group[0];
    anomalous += group[1];
    first = end;
  }
  if (normal == 0 || anomalous == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return static_cast<double>(twice_won) /
         (2.0 * static_cast<double>(normal) * static_cast<double>(anomalous));
}

absl::Status AddAccuracy(const Measurement& measured, v1::Report& report) {
  Accuracy& accuracy = *report.mutable_accuracy();
  accuracy.set_metric(NameOf(measured.metric));
  accuracy.set_reference(measured.kind);
  EK_RETURN_IF_ERROR(AddDisagreement(measured, accuracy));
  EK_RETURN_IF_ERROR(AddMetric(measured, accuracy));
  if (measured.confusion) {
    EK_RETURN_IF_ERROR(AddConfusion(measured, accuracy));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
