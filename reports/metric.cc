#include "reports/metric.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "reports/text/table.h"

namespace edgekiln {
namespace {

using Accuracy = v1::Report::Accuracy;

// More samples, or pairs of classes, are in --json.
constexpr int kShownSamples = 8;
constexpr size_t kShownConfusions = 10;
// The largest matrix that is shown as one.
constexpr int kMaxMatrixClasses = 20;

std::string ReferenceText(const Accuracy& accuracy) {
  return Accuracy::Reference_Name(accuracy.reference());
}

bool HasReference(const Accuracy& accuracy) {
  return accuracy.reference() != Accuracy::REFERENCE_UNSPECIFIED;
}

// "top1 98.40 % (1 968/2 000)   95 % interval (...)   reference FLOAT 98.45 %".
std::string ShareText(const std::string& metric, double value, double reference,
                      const v1::AccuracyInterval* interval,
                      const Accuracy& accuracy) {
  const double right = value * static_cast<double>(accuracy.samples());
  const int64_t correct =
      std::isfinite(right) ? static_cast<int64_t>(std::llround(right)) : 0;
  std::string text = absl::StrCat(metric, " ", FormatPercent(value, 2), " (",
                                  GroupDigits(correct), "/",
                                  GroupDigits(accuracy.samples()), ")");
  if (interval != nullptr) {
    absl::StrAppend(&text, "   95 % interval ", IntervalText(*interval));
  }
  if (!HasReference(accuracy)) return text;
  absl::StrAppend(&text, "   reference ", ReferenceText(accuracy));
  // Every network agrees with itself.
  if (metric != "agreement") {
    absl::StrAppend(&text, " ", FormatPercent(reference, 2));
  }
  return text;
}

// "auc 0.8469 (106 samples)   reference FLOAT 0.8471", "mse 0.0012 (500
// samples)   from reference FLOAT".
std::string ValueText(const Accuracy& accuracy) {
  const std::string metric = CleanText(accuracy.metric());
  std::string text =
      absl::StrCat(metric, " ", MetricValueText(metric, accuracy.value()), " (",
                   Count(accuracy.samples(), "sample", "samples"), ")");
  if (!HasReference(accuracy)) return text;
  if (!accuracy.has_anomalies()) {
    return absl::StrCat(text, metric == "cosine" ? "   with" : "   from",
                        " reference ", ReferenceText(accuracy));
  }
  return absl::StrCat(text, "   reference ", ReferenceText(accuracy), " ",
                      MetricValueText(metric, accuracy.reference_value()));
}

std::string AnomaliesText(const Accuracy::Anomalies& anomalies) {
  const auto part = [](const char* of, int64_t samples, double error,
                       double reference) {
    return absl::StrFormat("%s %.5g (%s, reference %.5g)", of, error,
                           Count(samples, "sample", "samples"), reference);
  };
  return absl::StrCat(
      "mean error: ",
      part("normal", anomalies.normal(), anomalies.normal_error(),
           anomalies.reference_normal_error()),
      "   ",
      part("anomaly", anomalies.anomalous(), anomalies.anomalous_error(),
           anomalies.reference_anomalous_error()));
}

std::string DisagreementText(const Accuracy& accuracy) {
  const Accuracy::Disagreement& disagreement = accuracy.disagreement();
  std::string text =
      absl::StrCat("on ", GroupDigits(disagreement.count()), " of ",
                   Count(disagreement.samples(), "sample", "samples"), " with ",
                   ReferenceText(accuracy), " (",
                   FormatPercent(disagreement.interval().value(), 2),
                   ")   95 % interval ", IntervalText(disagreement.interval()));
  if (disagreement.right_to_wrong() + disagreement.wrong_to_right() > 0) {
    absl::StrAppend(
        &text, "   right to wrong ", GroupDigits(disagreement.right_to_wrong()),
        ", wrong to right ", GroupDigits(disagreement.wrong_to_right()));
  }
  return text;
}

std::string SamplesText(const Accuracy::Disagreement& disagreement) {
  std::vector<std::string> samples;
  for (const int64_t sample : disagreement.sample()) {
    if (samples.size() == kShownSamples) break;
    samples.push_back(absl::StrCat(sample));
  }
  return absl::StrCat(
      disagreement.count() == 1 ? "sample " : "samples ",
      absl::StrJoin(samples, ", "),
      disagreement.count() > static_cast<int64_t>(samples.size()) ? ", ..."
                                                                  : "");
}

std::string Matrix(const Accuracy::Confusion& confusion, const Style& style) {
  std::map<std::pair<int, int>, int64_t> counts;
  for (const Accuracy::Confusion::Cell& cell : confusion.cells()) {
    counts[{cell.label(), cell.predicted()}] = cell.count();
  }
  std::vector<Table::Column> columns = {{"LABEL", Align::kRight}};
  for (int predicted = 0; predicted < confusion.classes(); ++predicted) {
    columns.push_back({absl::StrCat("-> ", predicted), Align::kRight});
  }
  Table table(std::move(columns));
  for (int label = 0; label < confusion.classes(); ++label) {
    std::vector<std::string> row = {absl::StrCat(label)};
    for (int predicted = 0; predicted < confusion.classes(); ++predicted) {
      const auto it = counts.find({label, predicted});
      row.push_back(it == counts.end() ? "." : GroupDigits(it->second));
    }
    table.AddRow(std::move(row));
  }
  return table.Render(style);
}

// The pairs of classes that are taken for each other most often.
std::string Confusions(const Accuracy::Confusion& confusion,
                       const LabelledLine& line) {
  std::vector<const Accuracy::Confusion::Cell*> wrong;
  for (const Accuracy::Confusion::Cell& cell : confusion.cells()) {
    if (cell.label() != cell.predicted()) wrong.push_back(&cell);
  }
  std::stable_sort(
      wrong.begin(), wrong.end(),
      [](const auto* a, const auto* b) { return a->count() > b->count(); });
  std::string out;
  for (size_t i = 0; i < std::min(wrong.size(), kShownConfusions); ++i) {
    out += line(i == 0 ? "confused" : "",
                absl::StrCat("label ", wrong[i]->label(), " taken for ",
                             wrong[i]->predicted(), ": ",
                             GroupDigits(wrong[i]->count())));
  }
  if (wrong.size() > kShownConfusions) {
    out += line("", absl::StrCat(wrong.size() - kShownConfusions,
                                 " more pairs in --json"));
  }
  return out;
}

std::string ConfusionText(const Accuracy::Confusion& confusion,
                          const Style& style, const LabelledLine& line) {
  if (confusion.classes() > 0 && confusion.classes() <= kMaxMatrixClasses) {
    const std::string matrix = Matrix(confusion, Style::Plain());
    const auto width = static_cast<int>(matrix.find('\n'));
    if (style.width() == 0 || width <= style.width()) {
      return absl::StrCat(Matrix(confusion, style), "\n");
    }
  }
  return Confusions(confusion, line);
}

}  // namespace

bool IsShare(absl::string_view metric) {
  return metric != "mse" && metric != "mae" && metric != "cosine" &&
         metric != "auc";
}

std::string MetricValueText(absl::string_view metric, double value) {
  if (IsShare(metric)) return FormatPercent(value, 2);
  if (metric == "auc") return absl::StrFormat("%.4f", value);
  return absl::StrFormat("%.4g", value);
}

std::string MetricCell(const v1::Report& report) {
  if (!report.has_accuracy()) return "-";
  const std::string metric = CleanText(report.accuracy().metric());
  const std::string value = MetricValueText(metric, report.accuracy().value());
  return metric == "top1" || metric.empty() ? value
                                            : absl::StrCat(metric, " ", value);
}

std::string RenderAccuracy(const Accuracy& accuracy, const Style& style,
                           const LabelledLine& line) {
  std::string out = line(
      "accuracy",
      IsShare(accuracy.metric())
          ? ShareText(CleanText(accuracy.metric()), accuracy.value(),
                      accuracy.reference_value(),
                      accuracy.has_interval() ? &accuracy.interval() : nullptr,
                      accuracy)
          : ValueText(accuracy));
  if (accuracy.has_top5_value() && accuracy.metric() != "top5") {
    out += line(
        "",
        ShareText(
            "top5", accuracy.top5_value(), accuracy.top5_reference_value(),
            accuracy.has_top5_interval() ? &accuracy.top5_interval() : nullptr,
            accuracy));
  }
  if (accuracy.has_anomalies()) {
    out += line("", AnomaliesText(accuracy.anomalies()));
  }
  if (accuracy.has_disagreement()) {
    out += line("disagrees", DisagreementText(accuracy));
    if (accuracy.disagreement().sample_size() > 0) {
      out += line("", SamplesText(accuracy.disagreement()));
    }
  }
  if (accuracy.has_confusion()) {
    out += ConfusionText(accuracy.confusion(), style, line);
  }
  return out;
}

}  // namespace edgekiln
