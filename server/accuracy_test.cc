#include "server/accuracy.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/report_builder.h"

namespace edgekiln::server {
namespace {

using Samples = v1::StageSummary::Samples;
using testing::ElementsAre;

// Networks on data sets.
v1::StageSummary::Data Classifier(int64_t classes, int64_t labelled) {
  v1::StageSummary::Data data;
  data.set_samples(50);
  data.set_classes(classes);
  data.set_labelled(labelled);
  if (labelled > 0) {
    data.set_largest_label(static_cast<int32_t>(classes) - 1);
  }
  return data;
}

v1::StageSummary::Data AutoEncoder(int64_t labelled, int smallest,
                                   int largest) {
  v1::StageSummary::Data data;
  data.set_samples(50);
  data.set_reconstructs(true);
  data.set_labelled(labelled);
  data.set_smallest_label(smallest);
  data.set_largest_label(largest);
  return data;
}

v1::StageSummary::Data Detector(int64_t labelled) {
  v1::StageSummary::Data data = AutoEncoder(labelled, 0, labelled > 0 ? 1 : 0);
  data.set_reconstructs(false);
  return data;
}

struct MetricCase {
  const char* name;
  v1::Metric asked;
  v1::StageSummary::Data data;
  v1::Metric chosen;  // METRIC_UNSPECIFIED: refused.
  const char* says;   // Part of the error, or of the note.
  bool confusion = false;
};

class MetricTest : public testing::TestWithParam<MetricCase> {};

TEST_P(MetricTest, IsChosenOrRefused) {
  const MetricCase& param = GetParam();
  v1::JobOptions options;
  options.set_metric(param.asked);
  options.set_confusion(param.confusion);
  const auto chosen = ChooseMetric(options, param.data);
  if (param.chosen != v1::METRIC_UNSPECIFIED) {
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(NameOf(*chosen), NameOf(param.chosen));
    const std::string note = NoteOn(*chosen, options, param.data);
    EXPECT_EQ(note.empty(), *param.says == '\0') << note;
    EXPECT_TRUE(absl::StrContains(note, param.says)) << note;
    return;
  }
  const auto detail = GetErrorDetail(chosen.status());
  ASSERT_TRUE(detail.has_value()) << chosen.status();
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_EQ(detail->reason, "METRIC");
  EXPECT_TRUE(absl::StrContains(detail->what, param.says)) << detail->what;
  EXPECT_FALSE(detail->need.empty());
  EXPECT_FALSE(detail->fix.empty());
}

constexpr v1::Metric kNone = v1::METRIC_UNSPECIFIED;

INSTANTIATE_TEST_SUITE_P(
    All, MetricTest,
    testing::Values(
        MetricCase{"LabelledClasses", kNone, Classifier(10, 50),
                   v1::METRIC_TOP1, ""},
        MetricCase{"UnlabelledClasses", kNone, Classifier(10, 0),
                   v1::METRIC_AGREEMENT, "the data set has no labels"},
        MetricCase{"AutoEncoder", kNone, AutoEncoder(50, 0, 1), v1::METRIC_AUC,
                   ""},
        MetricCase{"AutoEncoderOfOneClass", kNone, AutoEncoder(50, 0, 0),
                   v1::METRIC_MSE, "not both 0 (normal) and 1"},
        MetricCase{"AutoEncoderOfManyClasses", kNone, AutoEncoder(50, 0, 9),
                   v1::METRIC_MSE, "not both 0 (normal) and 1"},
        MetricCase{"UnlabelledAutoEncoder", kNone, AutoEncoder(0, 0, 0),
                   v1::METRIC_MSE, "no labels"},
        MetricCase{"LabelsOfADetector", kNone, Detector(50), v1::METRIC_MSE,
                   "not a vector of class scores"},
        MetricCase{"AgreementAskedFor", v1::METRIC_AGREEMENT,
                   Classifier(10, 50), v1::METRIC_AGREEMENT, ""},
        MetricCase{"MseOfAClassifier", v1::METRIC_MSE, Classifier(10, 50),
                   v1::METRIC_MSE, ""},
        MetricCase{"CosineOfADetector", v1::METRIC_COSINE, Detector(0),
                   v1::METRIC_COSINE, ""},
        MetricCase{"Top5OfTen", v1::METRIC_TOP5, Classifier(10, 50),
                   v1::METRIC_TOP5, ""},
        MetricCase{"Top5OfNine", v1::METRIC_TOP5, Classifier(9, 50), kNone,
                   "top5 of 9 classes"},
        MetricCase{"Top1WithoutLabels", v1::METRIC_TOP1, Classifier(10, 0),
                   kNone, "top1 needs labels"},
        MetricCase{"Top1OfAnAutoEncoder", v1::METRIC_TOP1,
                   AutoEncoder(50, 0, 1), kNone, "not a vector"},
        MetricCase{"AgreementOfADetector", v1::METRIC_AGREEMENT, Detector(0),
                   kNone, "not a vector"},
        MetricCase{"AucWithoutLabels", v1::METRIC_AUC, AutoEncoder(0, 0, 0),
                   kNone, "auc needs labels"},
        MetricCase{"AucWithoutNormalOnes", v1::METRIC_AUC,
                   AutoEncoder(50, 1, 1), kNone, "the labels are 1 to 1"},
        MetricCase{"AucOfTenClasses", v1::METRIC_AUC, AutoEncoder(50, 0, 9),
                   kNone, "the labels are 0 to 9"},
        MetricCase{"AucOfAClassifier", v1::METRIC_AUC, Classifier(2, 50), kNone,
                   "another shape"},
        MetricCase{"Confusion", kNone, Classifier(1000, 50), v1::METRIC_TOP1,
                   "", true},
        MetricCase{"ConfusionOfTooMany", kNone, Classifier(1001, 50), kNone,
                   "1001 classes", true},
        MetricCase{"ConfusionWithoutLabels", v1::METRIC_MSE, Classifier(10, 0),
                   kNone, "needs labels", true},
        MetricCase{"ConfusionOfAnAutoEncoder", kNone, AutoEncoder(50, 0, 1),
                   kNone, "not a vector", true}),
    [](const auto& info) { return info.param.name; });

// As it is defined: all pairs.
double BruteForce(const std::vector<double>& scores,
                  const std::vector<int32_t>& labels) {
  int64_t twice = 0;
  int64_t pairs = 0;
  for (size_t a = 0; a < scores.size(); ++a) {
    for (size_t n = 0; n < scores.size(); ++n) {
      if (labels[a] != 1 || labels[n] != 0) continue;
      twice += scores[a] > scores[n] ? 2 : scores[a] == scores[n] ? 1 : 0;
      ++pairs;
    }
  }
  return static_cast<double>(twice) / (2.0 * static_cast<double>(pairs));
}

TEST(AreaUnderCurveTest, EqualsAllPairsToTheBit) {
  std::mt19937 random(1);
  for (const unsigned values : {1u, 2u, 5u, 1000u}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<double> scores = {0.5, 0.25};
      std::vector<int32_t> labels = {0, 1};
      const unsigned samples = random() % 40;
      for (unsigned i = 0; i < samples; ++i) {
        scores.push_back(0.25 * (random() % values));
        labels.push_back(static_cast<int32_t>(random() % 4) - 1);
      }
      EXPECT_EQ(AreaUnderCurve(scores, labels), BruteForce(scores, labels))
          << values << " values, " << samples << " samples";
    }
  }
}

TEST(AreaUnderCurveTest, Extremes) {
  EXPECT_EQ(AreaUnderCurve({1, 2, 3, 4}, {0, 0, 1, 1}), 1);
  EXPECT_EQ(AreaUnderCurve({1, 2, 3, 4}, {1, 1, 0, 0}), 0);
  EXPECT_EQ(AreaUnderCurve({7, 7, 7}, {1, 0, 0}), 0.5);
  EXPECT_TRUE(std::isnan(AreaUnderCurve({1, 2}, {1, 1})));
}

// Samples with these classes, labels and scores; correct ones counted.
Samples Of(const std::vector<int32_t>& predicted,
           const std::vector<int32_t>& labels, int64_t classes = 10) {
  Samples samples;
  samples.set_samples(static_cast<int64_t>(predicted.size()));
  samples.set_classes(classes);
  samples.mutable_predicted()->Add(predicted.begin(), predicted.end());
  samples.mutable_label()->Add(labels.begin(), labels.end());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    samples.set_labelled(samples.labelled() + 1);
    samples.set_correct(samples.correct() + (labels[i] == predicted[i]));
  }
  samples.set_correct_top5(samples.labelled());
  return samples;
}

Samples Scores(const std::vector<double>& scores,
               const std::vector<int32_t>& labels = {}) {
  Samples samples;
  samples.mutable_score()->Add(scores.begin(), scores.end());
  samples.mutable_label()->Add(labels.begin(), labels.end());
  return samples;
}

v1::Report::Accuracy Measured(v1::Metric metric, const Samples& chip,
                              const Samples& reference,
                              const Samples& chip_scores = {},
                              const Samples& reference_scores = {},
                              bool confusion = false) {
  v1::Report report;
  const absl::Status status =
      AddAccuracy({.metric = metric,
                   .confusion = confusion,
                   .chip = chip,
                   .reference = reference,
                   .kind = v1::Report::Accuracy::FLOAT,
                   .chip_scores = chip_scores,
                   .reference_scores = reference_scores},
                  report);
  EXPECT_TRUE(status.ok()) << status;
  return report.accuracy();
}

TEST(AccuracyReportTest, TellsWhereTheChipDisagrees) {
  //                         same, better, worse, both wrong, unlabelled, same
  const std::vector<int32_t> labels = {1, 2, 3, 4, -1, 5};
  const Samples reference = Of({1, 9, 3, 8, 7, 5}, labels);
  Samples chip = Of({1, 2, 9, 9, 6, 5}, labels);
  chip.clear_label();
  const v1::Report::Accuracy accuracy =
      Measured(v1::METRIC_TOP1, chip, reference);
  EXPECT_EQ(accuracy.metric(), "top1");
  EXPECT_EQ(accuracy.samples(), 5);
  EXPECT_DOUBLE_EQ(accuracy.value(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(accuracy.reference_value(), 3.0 / 5);
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::FLOAT);
  const v1::Report::Accuracy::Disagreement& disagreement =
      accuracy.disagreement();
  EXPECT_EQ(disagreement.samples(), 6);
  EXPECT_EQ(disagreement.count(), 4);
  EXPECT_EQ(disagreement.wrong_to_right(), 1);
  EXPECT_EQ(disagreement.right_to_wrong(), 1);
  EXPECT_THAT(disagreement.sample(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(disagreement.interval().ShortDebugString(),
            IntervalOf(4, 6).ShortDebugString());
  EXPECT_EQ(accuracy.interval().ShortDebugString(),
            IntervalOf(3, 5).ShortDebugString());
  EXPECT_EQ(accuracy.reference_interval().ShortDebugString(),
            IntervalOf(3, 5).ShortDebugString());
  EXPECT_EQ(accuracy.top5_interval().ShortDebugString(),
            IntervalOf(5, 5).ShortDebugString());
  EXPECT_DOUBLE_EQ(accuracy.top5_value(), 1);
  EXPECT_FALSE(accuracy.less_is_better());
  EXPECT_FALSE(accuracy.has_confusion());
}

TEST(AccuracyReportTest, NamesTheFirstOfManyDisagreements) {
  const std::vector<int32_t> zeros(100, 0);
  const std::vector<int32_t> ones(100, 1);
  const v1::Report::Accuracy accuracy =
      Measured(v1::METRIC_AGREEMENT, Of(zeros, {}), Of(ones, {}));
  EXPECT_EQ(accuracy.disagreement().count(), 100);
  EXPECT_EQ(accuracy.disagreement().sample_size(), kMaxDisagreeing);
  EXPECT_EQ(accuracy.disagreement().sample(kMaxDisagreeing - 1),
            kMaxDisagreeing - 1);
}

TEST(AccuracyReportTest, AgreementNeedsNoLabels) {
  const v1::Report::Accuracy accuracy = Measured(
      v1::METRIC_AGREEMENT, Of({1, 2, 3, 4}, {}), Of({1, 2, 3, 5}, {}));
  EXPECT_EQ(accuracy.metric(), "agreement");
  EXPECT_DOUBLE_EQ(accuracy.value(), 0.75);
  EXPECT_EQ(accuracy.samples(), 4);
  EXPECT_DOUBLE_EQ(accuracy.reference_value(), 1);
  EXPECT_TRUE(accuracy.has_interval());
  EXPECT_FALSE(accuracy.has_reference_interval());
}

TEST(AccuracyReportTest, Top5OfFewClassesIsLeftOut) {
  const Samples few = Of({1, 2}, {1, 1}, /*classes=*/9);
  EXPECT_FALSE(Measured(v1::METRIC_TOP1, few, few).has_top5_value());
  const Samples many = Of({1, 2}, {1, 1}, /*classes=*/10);
  const v1::Report::Accuracy top5 = Measured(v1::METRIC_TOP5, many, many);
  EXPECT_EQ(top5.metric(), "top5");
  EXPECT_DOUBLE_EQ(top5.value(), 1);
  EXPECT_DOUBLE_EQ(top5.interval().low(), IntervalOf(2, 2).low());
}

TEST(AccuracyReportTest, ConfusionCountsEveryLabelledSampleOnce) {
  const std::vector<int32_t> labels = {0, 0, 1, 1, -1, 1};
  const Samples samples = Of({0, 1, 1, 0, 2, 1}, labels, 3);
  const v1::Report::Accuracy accuracy =
      Measured(v1::METRIC_TOP1, samples, samples, {}, {}, /*confusion=*/true);
  EXPECT_EQ(accuracy.confusion().classes(), 3);
  std::vector<std::string> cells;
  for (const auto& cell : accuracy.confusion().cells()) {
    cells.push_back(cell.ShortDebugString());
  }
  EXPECT_THAT(cells, ElementsAre("count: 1", "predicted: 1 count: 1",
                                 "label: 1 count: 1",
                                 "label: 1 predicted: 1 count: 2"));
}

TEST(AccuracyReportTest, ErrorsAreMeansInSampleOrder) {
  const Samples none;
  const v1::Report::Accuracy mse =
      Measured(v1::METRIC_MSE, none, none, Scores({1e16, 1, -1e16, 2}));
  EXPECT_EQ(mse.value(), ((1e16 + 1) - 1e16 + 2) / 4);
  EXPECT_EQ(mse.samples(), 4);
  EXPECT_TRUE(mse.less_is_better());
  EXPECT_EQ(mse.reference_value(), 0);
  EXPECT_FALSE(mse.has_interval());
  EXPECT_FALSE(mse.has_disagreement());
  const v1::Report::Accuracy cosine =
      Measured(v1::METRIC_COSINE, none, none, Scores({1, 0.5}));
  EXPECT_EQ(cosine.value(), 0.75);
  EXPECT_FALSE(cosine.less_is_better());
  EXPECT_EQ(cosine.reference_value(), 1);
}

TEST(AccuracyReportTest, AucOfBothSides) {
  const Samples none;
  const std::vector<int32_t> labels = {0, 1, -1, 0, 1};
  const v1::Report::Accuracy accuracy =
      Measured(v1::METRIC_AUC, none, none, Scores({1, 2, 9, 3, 4}, labels),
               Scores({1, 2, 9, 1, 4}, labels));
  EXPECT_EQ(accuracy.metric(), "auc");
  EXPECT_EQ(accuracy.value(), 0.75);
  EXPECT_EQ(accuracy.reference_value(), 1);
  EXPECT_EQ(accuracy.samples(), 4);
  EXPECT_EQ(accuracy.anomalies().ShortDebugString(),
            "normal: 2 anomalous: 2 normal_error: 2 anomalous_error: 3 "
            "reference_normal_error: 1 reference_anomalous_error: 3");
}

TEST(AccuracyReportTest, AnAucOfNoPairsIsABug) {
  v1::Report report;
  const Samples none;
  const Samples anomalies = Scores({1, 2}, {1, 1});
  EXPECT_EQ(AddAccuracy({.metric = v1::METRIC_AUC,
                         .chip = none,
                         .reference = none,
                         .chip_scores = anomalies,
                         .reference_scores = anomalies},
                        report)
                .code(),
            absl::StatusCode::kInternal);
}

TEST(AccuracyReportTest, PartsOfDifferentSamplesAreABug) {
  v1::Report report;
  const Samples none;
  const Samples two = Of({1, 2}, {1, 2});
  const Samples three = Of({1, 2, 3}, {1, 2, 3});
  const Samples scores = Scores({1, 2});
  const struct {
    v1::Metric metric;
    const Samples& chip;
    const Samples& reference;
    bool confusion;
  } kCases[] = {
      {v1::METRIC_TOP1, two, three, false},
      {v1::METRIC_TOP1, none, none, false},
      {v1::METRIC_AGREEMENT, none, none, false},
      {v1::METRIC_AUC, two, two, false},  // Scores without labels.
      {v1::METRIC_MSE, two, none, false},
      {v1::METRIC_MSE, none, two, true},
  };
  for (const auto& one : kCases) {
    const absl::Status status = AddAccuracy({.metric = one.metric,
                                             .confusion = one.confusion,
                                             .chip = one.chip,
                                             .reference = one.reference,
                                             .chip_scores = scores,
                                             .reference_scores = scores},
                                            report);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal)
        << NameOf(one.metric) << ": " << status;
  }
}

}  // namespace
}  // namespace edgekiln::server
