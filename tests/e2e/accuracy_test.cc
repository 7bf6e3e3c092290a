// Accuracy over labelled data, on the simulated chip.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
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
  EXPECT_LT(accuracy.reference_interval().low(), accuracy.value());
  EXPECT_GT(accuracy.reference_interval().high(), accuracy.value());
  EXPECT_EQ(accuracy.top5_interval().value(), accuracy.top5_value());
  // Of a model that came quantized the chip computes every bit.
  EXPECT_EQ(accuracy.disagreement().samples(), param.samples);
  EXPECT_EQ(accuracy.disagreement().count(), 0);
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.calibration(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Networks, PublishedAccuracyTest,
    testing::Values(PublishedCase{"resnet8_int8", "cifar10_ic_100", 83, 100},
                    PublishedCase{"dscnn_int8", "kws_500", 449, 500}),
    [](const auto& info) { return info.param.name; });

// Share of the pairs of an anomaly and a normal sample in which the anomaly has
// the higher score; equal scores count half.
double AreaUnderCurve(const std::vector<double>& scores,
                      const std::vector<int>& labels) {
  double won = 0;
  double pairs = 0;
  for (size_t a = 0; a < scores.size(); ++a) {
    for (size_t n = 0; n < scores.size(); ++n) {
      if (labels[a] != 1 || labels[n] != 0) continue;
      won += scores[a] > scores[n] ? 1 : scores[a] == scores[n] ? 0.5 : 0;
      ++pairs;
    }
  }
  return won / pairs;
}

struct AutoEncoderCase {
  const char* name;
  const char* model;
  // Of the output; 1 and 0 if the model converts it itself.
  double scale;
  double zero_point;
  std::vector<std::string> options;
  double published;
};

class AutoEncoderTest : public ClusterTest,
                        public testing::WithParamInterface<AutoEncoderCase> {};

// Its labels are no classes: the score of a sample is how badly the network
// makes it again, so the outputs are needed.
TEST_P(AutoEncoderTest, TellsAnomaliesAsPublished) {
  constexpr char kData[] = "data/ad_windows.npz";
  const AutoEncoderCase& param = GetParam();
  const std::string model = std::string("models/") + param.model;
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(kData);
  const std::string file = sandbox().Path("made-again.npz");
  std::vector<std::string> command = {
      "run", SharedPath(model), "--data", SharedPath(kData), "-o", file};
  command.insert(command.end(), param.options.begin(), param.options.end());
  const Outcome run = cluster().Cli(command);
  ASSERT_EQ(run.exit_code, 0) << run;
  const auto data = NpzOf(SharedPath(kData));
  const NpyArray& x = data.at("x");
  const std::vector<int> labels = data.at("y").As<int>();
  const NpyArray y = NpzOf(file).begin()->second;
  ASSERT_EQ(y.size(), x.size());
  const int64_t width = x.size() / static_cast<int64_t>(labels.size());
  std::vector<double> scores(labels.size());
  for (int64_t i = 0; i < x.size(); ++i) {
    const double value = (y.At<double>(i) - param.zero_point) * param.scale;
    const double error = value - x.At<double>(i);
    scores[static_cast<size_t>(i / width)] += error * error;
  }
  EXPECT_NEAR(AreaUnderCurve(scores, labels), param.published, 0.00005);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, AutoEncoderTest,
    testing::Values(AutoEncoderCase{"Int8",
                                    "ad_int8.tflite",
                                    0.3644985,
                                    96,
                                    {"--input", "scale=1"},
                                    0.8508},
                    AutoEncoderCase{"Int8OnTheChip",
                                    "ad_int8.tflite",
                                    0.3644985,
                                    96,
                                    {"--input", "scale=1", "--target", kTarget},
                                    0.8508},
                    AutoEncoderCase{
                        "Qdq", "ad_int8_qdq.onnx", 1, 0, {}, 0.8469}),
    [](const auto& info) { return info.param.name; });

struct AnomalyCase {
  const char* name;
  const char* model;
  double normal;
  double anomalous;
  double published;
  double slack;  // The mean errors are published with other digits.
};

class AnomalyTest : public ClusterTest,
                    public testing::WithParamInterface<AnomalyCase> {};

// The same without any option, on the simulated chip.
TEST_P(AnomalyTest, AucIsThePublishedOne) {
  const AnomalyCase& param = GetParam();
  const std::string model = std::string("models/") + param.model;
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED("data/ad_windows.npz");
  const v1::Report report = ReportOf(cluster().Cli(
      {"validate", SharedPath(model), "--target", kTarget, "--data",
       SharedPath("data/ad_windows.npz"), "--json", "--quiet"}));
  ExpectConsistent(report);
  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.metric(), "auc");
  EXPECT_EQ(accuracy.samples(), 106);
  EXPECT_NEAR(accuracy.value(), param.published, 0.00005);
  EXPECT_EQ(accuracy.reference_value(), accuracy.value());
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_EQ(accuracy.anomalies().normal(), 98);
  EXPECT_EQ(accuracy.anomalies().anomalous(), 8);
  EXPECT_NEAR(accuracy.anomalies().normal_error(), param.normal, param.slack);
  EXPECT_NEAR(accuracy.anomalies().anomalous_error(), param.anomalous,
              param.slack);
  EXPECT_FALSE(accuracy.has_disagreement());
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.warnings_size(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, AnomalyTest,
    testing::Values(
        AnomalyCase{"Qdq", "ad_int8_qdq.onnx", 11.074, 13.161, 0.8469, 0.0005},
        AnomalyCase{"Int8", "ad_int8.tflite", 10.21, 11.711, 0.8508, 0.005}),
    [](const auto& info) { return info.param.name; });

class UnlabelledTest : public ClusterTest {};

TEST_F(UnlabelledTest, AgreementAndAWord) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  EK_REQUIRE_SHARED("data/cifar10_calib_487.npz");
  const v1::Report report = ReportOf(cluster().Cli(
      {"validate", SharedPath("models/resnet8_int8.tflite"), "--target",
       kTarget, "--data", SharedPath("data/cifar10_calib_487.npz"), "--limit",
       "20", "--json", "--quiet"}));
  EXPECT_EQ(report.accuracy().metric(), "agreement");
  EXPECT_EQ(report.accuracy().value(), 1);
  EXPECT_EQ(report.accuracy().samples(), 20);
  EXPECT_EQ(report.accuracy().reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_EQ(report.accuracy().disagreement().count(), 0);
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_NE(report.warnings(0).find("label"), std::string::npos);
}

// The first 20 windows are all normal.
TEST_F(UnlabelledTest, AnAutoEncoderHasNoTop1) {
  EK_REQUIRE_SHARED("models/ad_int8_qdq.onnx");
  EK_REQUIRE_SHARED("data/ad_windows.npz");
  const v1::Report report = ReportOf(cluster().Cli(
      {"validate", SharedPath("models/ad_int8_qdq.onnx"), "--target", kTarget,
       "--data", SharedPath("data/ad_windows.npz"), "--limit", "20", "--json",
       "--quiet"}));
  EXPECT_EQ(report.accuracy().metric(), "mse");
  EXPECT_EQ(report.accuracy().value(), 0);
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_NE(report.warnings(0).find("not both 0 (normal) and 1"),
            std::string::npos);
}

class ExampleModelTest : public ClusterTest {
 protected:
  static std::string Example(const std::string& file) {
    return SourcePath("docs/example/" + file);
  }
  static v1::Report Validate(const std::string& data,
                             const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {
        "validate",      Example("digits.onnx"),
        "--target",      kTarget,
        "--calibration", Example("digits_calibration.npz"),
        "--data",        data,
        "--json",        "--quiet"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return ReportOf(cluster().Cli(arguments));
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

TEST_F(ExampleModelTest, ReadsHandwriting) {
  EK_REQUIRE_SHARED("data/mnist_2k.npz");
  const v1::Report report = Validate(SharedPath("data/mnist_2k.npz"));
  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.samples(), 2000);
  EXPECT_GE(accuracy.value(), 0.90);
  EXPECT_NEAR(accuracy.value(), accuracy.reference_value(), 0.005 + 1e-9);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

// Of 1000 digits: which samples int8 decides otherwise, and what it takes them
// for.
TEST_F(ExampleModelTest, DisagreementsAddUp) {
  // int8 loses none of these samples.
  const std::string ternary =
      sandbox().Write("ternary.txtpb", "scheme { weights: TERNARY }\n");
  const v1::Report report = Validate(
      Example("digits_test.npz"), {"--confusion", "--quantization", ternary});
  const v1::Report::Accuracy& accuracy = report.accuracy();
  const v1::Report::Accuracy::Disagreement& disagreement =
      accuracy.disagreement();
  EXPECT_EQ(accuracy.metric(), "top1");
  EXPECT_EQ(disagreement.samples(), 1000);
  EXPECT_GT(disagreement.count(), 0);
  EXPECT_LT(disagreement.count(), 500);
  EXPECT_EQ(disagreement.sample_size(),
            std::min<int64_t>(disagreement.count(), 32));
  EXPECT_DOUBLE_EQ(disagreement.interval().value(),
                   static_cast<double>(disagreement.count()) / 1000);
  // What got better and worse is the difference of both accuracies.
  EXPECT_EQ(std::lround(1000 * (accuracy.value() - accuracy.reference_value())),
            disagreement.wrong_to_right() - disagreement.right_to_wrong());
  EXPECT_EQ(accuracy.confusion().classes(), 10);
  int64_t all = 0;
  int64_t right = 0;
  for (const auto& cell : accuracy.confusion().cells()) {
    all += cell.count();
    right += cell.label() == cell.predicted() ? cell.count() : 0;
  }
  EXPECT_EQ(all, 1000);
  EXPECT_EQ(right, std::lround(1000 * accuracy.value()));
}

TEST_F(ExampleModelTest, OutputsAreComparedWithTheFloatModels) {
  const std::string data = Example("digits_test.npz");
  const auto measured = [&](const char* metric, const char* io) {
    const v1::Report report =
        Validate(data, {"--limit", "100", "--metric", metric, "--io", io});
    EXPECT_EQ(report.accuracy().metric(), metric);
    EXPECT_EQ(report.accuracy().samples(), 100);
    EXPECT_EQ(report.accuracy().reference(), v1::Report::Accuracy::FLOAT);
    EXPECT_EQ(report.warnings_size(), 0);
    return report.accuracy().value();
  };
  const double mse = measured("mse", "int");
  const double mae = measured("mae", "int");
  const double cosine = measured("cosine", "int");
  EXPECT_GT(mse, 0);
  EXPECT_GT(mae, 0);
  // The mean of squares is never below the square of the mean.
  EXPECT_GE(mse, mae * mae);
  EXPECT_GT(cosine, 0.99);
  EXPECT_LT(cosine, 1);
  // Whoever converts the outputs, they are worth the same.
  EXPECT_EQ(measured("mse", "float"), mse);
  EXPECT_EQ(measured("cosine", "float"), cosine);
}

TEST_F(ExampleModelTest, LimitsFollowTheMetric) {
  const auto validate = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {
        "validate",      Example("digits.onnx"),
        "--target",      kTarget,
        "--calibration", Example("digits_calibration.npz"),
        "--data",        Example("digits_test.npz"),
        "--limit",       "100",
        "--quiet"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return cluster().Cli(arguments);
  };
  EXPECT_EQ(validate({"--metric", "mse", "--max-error", "1e6",
                      "--max-disagreement", "5%"})
                .exit_code,
            0);
  const Outcome broken = validate({"--metric", "mae", "--max-error", "0"});
  EXPECT_EQ(broken.exit_code, 3) << broken;
  EXPECT_NE(broken.out.find("GATE BROKEN mae "), std::string::npos) << broken;
  EXPECT_EQ(validate({"--metric", "top5", "--min-accuracy", "99%"}).exit_code,
            0);
  const Outcome unknown = validate({"--metric", "f1"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_NE(unknown.err.find("top1, top5, mse, auc, mae, cosine, agreement"),
            std::string::npos)
      << unknown;
  const Outcome refused = validate({"--metric", "auc"});
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_NE(refused.err.find("auto-encoder"), std::string::npos) << refused;
}

// `value` as IDX files have it: 32 bits, big-endian.
std::string BigEndian(int64_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift & 0xFF);
  }
  return out;
}

// The same pictures as MNIST's own pair of files, labels found by their name.
TEST_F(ExampleModelTest, AnIdxPairIsTheSameData) {
  constexpr int kCount = 200;
  const auto set = NpzOf(Example("digits_test.npz"));
  const NpyArray& x = set.at("x");
  const NpyArray& y = set.at("y");
  std::string labels = std::string("\0\0\x08\x01", 4) + BigEndian(kCount);
  for (int i = 0; i < kCount; ++i) labels += y.At<char>(i);
  const std::string images = sandbox().Write(
      "t10k-images-idx3-ubyte",
      std::string("\0\0\x08\x03", 4) + BigEndian(kCount) + BigEndian(28) +
          BigEndian(28) + x.data.substr(0, kCount * 28 * 28));
  sandbox().Write("t10k-labels-idx1-ubyte", labels);
  // Nobody would find labels by that name.
  const std::string alone = sandbox().Write(
      "digits.idx", ReadWholeFile(sandbox().Path("t10k-images-idx3-ubyte")));
  const v1::Report idx = Validate(images);
  const v1::Report npz =
      Validate(Example("digits_test.npz"), {"--limit", std::to_string(kCount)});
  EXPECT_EQ(idx.accuracy().samples(), kCount);
  EXPECT_GE(idx.accuracy().value(), 0.9);
  EXPECT_EQ(idx.accuracy().value(), npz.accuracy().value());
  EXPECT_EQ(idx.program().hash(), npz.program().hash());
  const v1::Report unlabelled = Validate(alone);
  EXPECT_EQ(unlabelled.accuracy().metric(), "agreement");
  EXPECT_EQ(unlabelled.accuracy().samples(), kCount);
  EXPECT_EQ(unlabelled.accuracy().disagreement().count(),
            idx.accuracy().disagreement().count());
  const Outcome limited =
      cluster().Cli({"validate", Example("digits.onnx"), "--target", kTarget,
                     "--calibration", Example("digits_calibration.npz"),
                     "--data", alone, "--min-accuracy", "1%"});
  EXPECT_EQ(limited.exit_code, 2) << limited;
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
  const Outcome outcome =
      cluster().Cli({"profile", Example("digits.onnx"), "--target", kTarget});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_NE(outcome.out.find("SYNTHETIC"), std::string::npos) << outcome;
}

}  // namespace
}  // namespace edgekiln::tests
