// Accuracy over labelled data, on the simulated chip.

#include <cmath>
#include <string>

#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/npz_writer.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";

struct PublishedCase {
  const char* name;
  const char* data;
  int correct;
  int samples;
};

class PublishedAccuracyTest
    : public ClusterTest,
      public testing::WithParamInterface<PublishedCase> {};

TEST_P(PublishedAccuracyTest, IsExactlyThePublishedOne) {
  const PublishedCase& param = GetParam();
  const std::string model = std::string("models/") + param.name + ".tflite";
  const std::string data = std::string("data/") + param.data + ".npz";
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(data);
  const v1::Report report = ReportOf(
      cluster().Cli({"validate", SharedPath(model), "--target", kTarget,
                     "--data", SharedPath(data), "--json", "--quiet"}));
  ExpectConsistent(report);
  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.metric(), "top1");
  EXPECT_EQ(accuracy.samples(), param.samples);
  EXPECT_EQ(std::lround(accuracy.value() * param.samples), param.correct);
  EXPECT_DOUBLE_EQ(accuracy.value(),
                   static_cast<double>(param.correct) / param.samples);
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_DOUBLE_EQ(accuracy.reference_value(), accuracy.value());
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.calibration(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Networks, PublishedAccuracyTest,
    testing::Values(PublishedCase{"resnet8_int8", "cifar10_ic_100", 83, 100},
                    PublishedCase{"dscnn_int8", "kws_500", 449, 500}),
    [](const auto& info) { return info.param.name; });

class ExampleModelTest : public ClusterTest {
 protected:
  static std::string Example(const std::string& file) {
    return SourcePath("docs/example/" + file);
  }
  static v1::Report Validate(const std::string& data) {
    return ReportOf(cluster().Cli(
        {"validate", Example("digits.onnx"), "--target", kTarget,
         "--calibration", Example("digits_calibration.npz"), "--data", data,
         "--json", "--quiet"}));
  }
};

TEST_F(ExampleModelTest, Int8IsAsGoodAsFloatOnItsOwnSet) {
  const v1::Report report = Validate(Example("digits_test.npz"));
  ExpectConsistent(report);
  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.samples(), 1000);
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::FLOAT);
  EXPECT_GE(accuracy.value(), 0.90);
  EXPECT_NEAR(accuracy.value(), accuracy.reference_value(), 0.005 + 1e-9);
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.calibration(), "DATA");
}

// MNIST, told what its pixels mean as the example's own sets are.
TEST_F(ExampleModelTest, ReadsHandwriting) {
  EK_REQUIRE_SHARED("data/mnist_2k.npz");
  std::map<std::string, NpyArray> mnist =
      NpzOf(SharedPath("data/mnist_2k.npz"));
  const std::map<std::string, NpyArray> own = NpzOf(Example("digits_test.npz"));
  mnist["x_scale"] = own.at("x_scale");
  mnist["x_offset"] = own.at("x_offset");
  const std::string data = sandbox().Path("mnist.npz");
  ASSERT_TRUE(WriteNpz(data, mnist).ok());
  const v1::Report report = Validate(data);
  EXPECT_EQ(report.accuracy().samples(), 2000);
  EXPECT_GE(report.accuracy().value(), 0.90);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST_F(ExampleModelTest, RandomCalibrationGivesNoAccuracy) {
  const v1::Report report = ReportOf(cluster().Cli(
      {"validate", Example("digits.onnx"), "--target", kTarget, "--data",
       Example("digits_test.npz"), "--limit", "40", "--json", "--quiet"}));
  ExpectConsistent(report);
  EXPECT_EQ(report.calibration(), "SYNTHETIC");
  EXPECT_FALSE(report.has_accuracy());
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST_F(ExampleModelTest, RandomCalibrationIsSaid) {
  const Outcome outcome = cluster().Cli(
      {"profile", Example("digits.onnx"), "--target", kTarget});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_NE(outcome.out.find("SYNTHETIC"), std::string::npos) << outcome;
}

}  // namespace
}  // namespace edgekiln::tests
