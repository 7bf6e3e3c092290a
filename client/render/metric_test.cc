#include "reports/metric.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/render/report.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::Report::Accuracy Parse(const std::string& text) {
  v1::Report::Accuracy accuracy;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &accuracy));
  return accuracy;
}

std::string Render(const std::string& text,
                   const Style& style = Style::Plain()) {
  return RenderAccuracy(Parse(text), style,
                        [](absl::string_view label, absl::string_view line) {
                          return absl::StrCat(label, "|", line, "\n");
                        });
}

TEST(RenderAccuracyTest, EveryMetricSaysWhatItIs) {
  const struct {
    const char* name;
    const char* accuracy;
    const char* want;
  } kCases[] = {
      {"classes",
       R"pb(metric: "top1"
            value: 0.9
            samples: 40
            reference: FLOAT
            reference_value: 0.95
            interval { value: 0.9 low: 0.77 high: 0.96 }
            top5_value: 1
            top5_reference_value: 1
            disagreement {
              samples: 50
              count: 3
              interval { value: 0.06 low: 0.02 high: 0.162 }
              right_to_wrong: 2
              sample: [ 4, 17, 33 ]
            })pb",
       "accuracy|top1 90.00 % (36/40)   95 % interval (77.0 to 96.0 %)   "
       "reference FLOAT 95.00 %\n"
       "|top5 100.00 % (40/40)   reference FLOAT 100.00 %\n"
       "disagrees|on 3 of 50 samples with FLOAT (6.00 %)   95 % interval (2.0 "
       "to 16.2 %)   right to wrong 2, wrong to right 0\n"
       "|samples 4, 17, 33\n"},
      {"no labels",
       R"pb(metric: "agreement"
            value: 1
            samples: 20
            reference: SOURCE_INT8
            reference_value: 1
            disagreement {
              samples: 20
              interval { high: 0.161 }
            })pb",
       "accuracy|agreement 100.00 % (20/20)   reference SOURCE_INT8\n"
       "disagrees|on 0 of 20 samples with SOURCE_INT8 (0.00 %)   95 % interval "
       "(0.0 to 16.1 %)\n"},
      {"auto-encoder",
       R"pb(metric: "auc"
            value: 0.8469
            samples: 106
            reference: SOURCE_INT8
            reference_value: 0.8469
            anomalies {
              normal: 98
              anomalous: 8
              normal_error: 11.0741
              anomalous_error: 13.1612
              reference_normal_error: 11.0741
              reference_anomalous_error: 13.1612
            })pb",
       "accuracy|auc 0.8469 (106 samples)   reference SOURCE_INT8 0.8469\n"
       "|mean error: normal 11.074 (98 samples, reference 11.074)   anomaly "
       "13.161 (8 samples, reference 13.161)\n"},
      {"error",
       R"pb(metric: "mse"
            value: 0.00123456
            samples: 1
            reference: FLOAT
            less_is_better: true)pb",
       "accuracy|mse 0.001235 (1 sample)   from reference FLOAT\n"},
      {"similarity",
       R"pb(metric: "cosine" value: 0.9987 samples: 2 reference: FLOAT)pb",
       "accuracy|cosine 0.9987 (2 samples)   with reference FLOAT\n"},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(Render(one.accuracy), one.want) << one.name;
  }
}

TEST(RenderAccuracyTest, SmallConfusionsAreMatrices) {
  const std::string text = R"pb(
    metric: "top1"
    samples: 9
    confusion {
      classes: 2
      cells { count: 5 }
      cells { predicted: 1 count: 1 }
      cells { label: 1 predicted: 1 count: 3 }
    })pb";
  EXPECT_TRUE(absl::EndsWith(Render(text),
                             "LABEL  -> 0  -> 1\n"
                             "    0     5     1\n"
                             "    1     .     3\n\n"))
      << Render(text);
  // In a window that is too narrow, columns would be left out.
  EXPECT_TRUE(absl::EndsWith(Render(text, Style::Terminal([] { return 10; })),
                             "confused|label 0 taken for 1: 1\n"));
}

TEST(RenderAccuracyTest, OfLargeConfusionsTheWorstAreShown) {
  std::string cells;
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&cells, " cells { label: ", i, " predicted: ", 2 * i,
                    " count: ", i == 7 ? 99 : 1, " }");
  }
  const std::string text =
      Render("metric: 'top1' confusion { classes: 100" + cells + "}");
  EXPECT_TRUE(absl::StrContains(text,
                                "confused|label 7 taken for 14: 99\n"
                                "|label 1 taken for 2: 1\n"))
      << text;
  EXPECT_TRUE(absl::EndsWith(text, "|19 more pairs in --json\n")) << text;
}

TEST(MetricCellTest, NamesWhatIsNotUsual) {
  v1::Report report;
  EXPECT_EQ(MetricCell(report), "-");
  report.mutable_accuracy()->set_metric("top1");
  report.mutable_accuracy()->set_value(0.5);
  EXPECT_EQ(MetricCell(report), "50.00 %");
  report.mutable_accuracy()->set_metric("agreement");
  EXPECT_EQ(MetricCell(report), "agreement 50.00 %");
  report.mutable_accuracy()->set_metric("mae");
  EXPECT_EQ(MetricCell(report), "mae 0.5");
}

}  // namespace
}  // namespace edgekiln::client
