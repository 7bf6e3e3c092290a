// What a validation measures, and which stages that takes.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/stage_results.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kCalibration[] = "samples=20";

class JobMetricTest : public CompileJobTest {
 protected:
  v1::CreateJobRequest Validate(const std::string& model,
                                const std::string& data,
                                v1::Metric metric = v1::METRIC_UNSPECIFIED) {
    v1::CreateJobRequest request =
        Request(model, {"conv;sram=64"}, {v1::VALIDATE}, data, kCalibration);
    request.mutable_options()->set_metric(metric);
    return request;
  }

  // Of stages whose name begins so.
  std::vector<std::string> Executed(const std::string& prefix) {
    std::vector<std::string> some;
    for (const std::string& stage : leases_->TakeExecuted()) {
      if (absl::StartsWith(stage, prefix)) some.push_back(stage);
    }
    return some;
  }
};

TEST_F(JobMetricTest, ChipsAreComparedWithTheReferenceWithoutLabels) {
  for (const char* model : {"float net", "int8 net"}) {
    const JobResult result = Run(Validate(model, "samples=40"));
    ASSERT_TRUE(result.status.ok()) << result.status;
    const v1::Report& report = result.reports[0];
    EXPECT_EQ(report.accuracy().metric(), "agreement");
    EXPECT_EQ(report.accuracy().samples(), 40);
    // The fake chip is wrong once per chunk.
    EXPECT_EQ(report.accuracy().disagreement().count(), 3);
    EXPECT_THAT(report.accuracy().disagreement().sample(),
                ElementsAre(0, 16, 32));
    EXPECT_THAT(report.warnings(), Contains(HasSubstr("no labels")));
    EXPECT_THAT(Executed("score"), IsEmpty()) << model;
  }
}

TEST_F(JobMetricTest, LabelsTellWhichDisagreementsMatter) {
  for (const char* model : {"float net", "int8 net"}) {
    v1::CreateJobRequest request =
        Validate(model, "samples=40 labelled=40 classes=12");
    request.mutable_options()->set_confusion(true);
    const JobResult result = Run(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const v1::Report::Accuracy& accuracy = result.reports[0].accuracy();
    EXPECT_EQ(accuracy.metric(), "top1");
    EXPECT_EQ(accuracy.disagreement().right_to_wrong(), 3);
    EXPECT_EQ(accuracy.disagreement().wrong_to_right(), 0);
    EXPECT_TRUE(accuracy.has_top5_value());
    EXPECT_TRUE(accuracy.has_reference_interval());
    EXPECT_EQ(accuracy.confusion().classes(), 12);
    EXPECT_EQ(accuracy.confusion().cells_size(), 2);
    EXPECT_EQ(accuracy.confusion().cells(1).count(), 37);
  }
}

TEST_F(JobMetricTest, ErrorsAreScoredChunkByChunk) {
  const JobResult result =
      Run(Validate("float net", "samples=40", v1::METRIC_MSE));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(Executed("score"),
              ElementsAre("score[0]", "score[1]", "score[2]"));
  const v1::Report::Accuracy& accuracy = result.reports[0].accuracy();
  EXPECT_EQ(accuracy.metric(), "mse");
  EXPECT_EQ(accuracy.samples(), 40);
  EXPECT_DOUBLE_EQ(accuracy.value(), 39.0 / 2);  // The mean of 0 .. 39.
  EXPECT_TRUE(accuracy.has_disagreement());
  // Asked for: nobody has to be told that it is no accuracy.
  EXPECT_THAT(result.reports[0].warnings(), IsEmpty());
}

TEST_F(JobMetricTest, AnAutoEncoderIsMeasuredByAuc) {
  for (const char* model : {"float net", "int8 net"}) {
    const JobResult result =
        Run(Validate(model, "samples=20 labelled=20 reconstructs=1"));
    ASSERT_TRUE(result.status.ok()) << result.status;
    // Against the data's own values, whatever the network reads.
    const auto stages = CacheOf(result.reports[0]);
    for (const char* stage : {"convert_real", "score[0]", "score[1]",
                              "score_reference[0]", "score_reference[1]"}) {
      EXPECT_EQ(stages.count(stage), 1u) << stage;
    }
    const v1::Report::Accuracy& accuracy = result.reports[0].accuracy();
    EXPECT_EQ(accuracy.metric(), "auc");
    EXPECT_EQ(accuracy.samples(), 20);
    // Scores rise with the samples, whose labels are 0 and 1 by turns.
    EXPECT_DOUBLE_EQ(accuracy.value(), 0.55);
    EXPECT_DOUBLE_EQ(accuracy.reference_value(), 0.55);
    EXPECT_EQ(accuracy.anomalies().normal(), 10);
    EXPECT_FALSE(accuracy.has_disagreement());
  }
}

TEST_F(JobMetricTest, WhatCannotBeMeasuredIsRefusedFirst) {
  const struct {
    const char* model;
    const char* data;
    v1::Metric metric;
    bool confusion;
  } kCases[] = {
      {"float net", "samples=40", v1::METRIC_TOP1, false},
      {"int8 net", "samples=40", v1::METRIC_TOP1, false},
      {"float net", "samples=40 labelled=40", v1::METRIC_TOP5, false},
      {"int8 net", "samples=40 labelled=40", v1::METRIC_AUC, false},
      {"float net", "samples=40", v1::METRIC_UNSPECIFIED, true},
      {"int8 net", "samples=40 labelled=40 classes=1001",
       v1::METRIC_UNSPECIFIED, true},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(std::string(one.model) + ", " + one.data);
    v1::CreateJobRequest request = Validate(one.model, one.data, one.metric);
    request.mutable_options()->set_confusion(one.confusion);
    const JobResult result = Run(request);
    const auto detail = GetErrorDetail(result.status);
    ASSERT_TRUE(detail.has_value()) << result.status;
    EXPECT_EQ(detail->reason, "METRIC");
    EXPECT_EQ(detail->fault, Fault::kUser);
    const std::vector<std::string> executed = leases_->TakeExecuted();
    for (const char* stage : {"calibrate", "quantize", "partition", "tile",
                              "simulate[0]", "interpret[0]"}) {
      EXPECT_THAT(executed, Not(Contains(stage)));
    }
  }
}

TEST_F(JobMetricTest, WithoutCalibrationAFloatModelHasNoMetric) {
  v1::CreateJobRequest request = Validate("float net", "samples=40");
  request.clear_calibration();
  const JobResult plain = Run(request);
  ASSERT_TRUE(plain.status.ok()) << plain.status;
  EXPECT_FALSE(plain.reports[0].has_accuracy());
  request.mutable_options()->set_metric(v1::METRIC_AGREEMENT);
  const JobResult asked = Run(request);
  ASSERT_TRUE(GetErrorDetail(asked.status).has_value()) << asked.status;
  EXPECT_THAT(GetErrorDetail(asked.status)->fix, HasSubstr("--calibration"));
}

// Floats are cut into smaller chunks than the chip's integers.
TEST(CoveringTest, ExactlyTheChunksWithSomeOfTheSamples) {
  Values values;
  for (const int64_t samples : {4, 4, 2}) {
    v1::Digest& chunk = values.chunks.emplace_back();
    chunk.set_size_bytes(static_cast<int64_t>(values.chunks.size()) - 1);
    values.samples.push_back(samples);
  }
  const struct {
    int64_t first, count;
    std::vector<int64_t> chunks;
  } kCases[] = {
      {0, 10, {0, 1, 2}}, {0, 4, {0}},    {4, 4, {1}}, {3, 1, {0}},
      {3, 2, {0, 1}},     {7, 3, {1, 2}}, {8, 2, {2}}, {10, 1, {}},
  };
  for (const auto& one : kCases) {
    std::vector<int64_t> chunks;
    for (const v1::Digest& chunk : Covering(values, one.first, one.count)) {
      chunks.push_back(chunk.size_bytes());
    }
    EXPECT_EQ(chunks, one.chunks) << one.first << " +" << one.count;
  }
}

TEST_F(JobMetricTest, IsPartOfAValidation) {
  v1::CreateJobRequest request = Validate("int8 net", "samples=40");
  request.mutable_options()->set_metric(static_cast<v1::Metric>(99));
  EXPECT_EQ(GetErrorDetail(ValidateRequest(request))->reason, "BAD_METRIC");
  for (const bool confusion : {false, true}) {
    request.mutable_options()->set_metric(confusion ? v1::METRIC_UNSPECIFIED
                                                    : v1::METRIC_MSE);
    request.mutable_options()->set_confusion(confusion);
    EXPECT_TRUE(ValidateRequest(request).ok());
    v1::CreateJobRequest profile = request;
    profile.clear_goals();
    profile.add_goals(v1::PROFILE);
    EXPECT_EQ(GetErrorDetail(ValidateRequest(profile))->reason,
              "GOALS_CONFLICT");
  }
}

}  // namespace
}  // namespace edgekiln::server
