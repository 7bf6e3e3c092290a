// A network with a state through the whole system: the samples of a data set
// are one sequence, on the chip as in the reference.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/npz_writer.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";
constexpr int kSamples = 40;  // Several chunks.

// f[t] = x[t] + x[t - 1], by one filter with two time steps; y = f + x, on the
// engine. All scales are 1.
std::string Filter() {
  compiler::TestModel m;
  const auto int8 = tflite::TensorType::INT8;
  const auto int16 = tflite::TensorType::INT16;
  const std::vector<uint8_t> int8_one = {1};
  const std::vector<uint8_t> two_ones = {1, 0, 1, 0};
  const std::vector<uint8_t> no_bias(4, 0);
  const int32_t x = m.Tensor("x", {1, 1}, int8, {1}, {0});
  const int32_t feature = m.Tensor("feature", {1, 1}, int8, {1}, {0}, int8_one);
  const int32_t time = m.Tensor("time", {1, 2}, int16, {1}, {0}, two_ones);
  const int32_t bias =
      m.Tensor("bias", {1}, tflite::TensorType::INT32, {1}, {0}, no_bias);
  const int32_t state =
      m.Tensor("state", {1, 2}, int16, {1}, {0}, {}, 0, {.variable = true});
  const int32_t f = m.Tensor("f", {1, 1}, int8, {1}, {0});
  m.Operator(tflite::BuiltinOperator::SVDF, {x, feature, time, bias, state},
             {f}, tflite::BuiltinOptions::SVDFOptions,
             tflite::CreateSVDFOptions(m.builder(), 1).Union());
  const int32_t y = m.Tensor("y", {1, 1}, int8, {1}, {0});
  m.Operator(tflite::BuiltinOperator::ADD, {f, x}, {y},
             tflite::BuiltinOptions::AddOptions,
             tflite::CreateAddOptions(m.builder()).Union());
  m.AddSubgraph({x}, {y});
  return m.Finish();
}

int8_t SampleAt(int t) { return static_cast<int8_t>(t % 20); }

class StatesTest : public ClusterTest {
 protected:
  StatesTest() : model_(sandbox().Write("filter.tflite", Filter())) {
    for (int t = 0; t < kSamples; ++t) {
      x_.push_back(static_cast<char>(SampleAt(t)));
    }
  }

  std::string Write(bool with_states) {
    std::map<std::string, NpyArray> arrays = {
        {"x", {"|i1", {kSamples, 1}, x_}}};
    if (with_states) {
      arrays["state"] = {"<i2", {kSamples, 2}, std::string(4 * kSamples, '\0')};
    }
    const std::string path = sandbox().Path("in.npz");
    EXPECT_TRUE(WriteNpz(path, arrays).ok());
    return path;
  }

  // The array y of `run`.
  std::vector<int> Run(std::vector<std::string> more, const std::string& data) {
    const std::string out = sandbox().Path("out.npz");
    std::vector<std::string> arguments = {"run", model_, "--data", data,
                                          "-o",  out,    "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = cluster().Cli(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    return NpzOf(out)["y"].As<int>();
  }

  const std::string model_;
  std::string x_;
};

TEST_F(StatesTest, SamplesAreOneSequence) {
  std::vector<int> want = {0};
  for (int t = 1; t < kSamples; ++t) {
    want.push_back(2 * SampleAt(t) + SampleAt(t - 1));
  }
  const std::string data = Write(false);
  EXPECT_EQ(Run({}, data), want);
  EXPECT_EQ(Run({"--target", kTarget}, data), want);
}

TEST_F(StatesTest, ArraysForTheStateMakeSamplesStandAlone) {
  std::vector<int> want;
  for (int t = 0; t < kSamples; ++t) want.push_back(2 * SampleAt(t));
  const std::string data = Write(true);
  EXPECT_EQ(Run({}, data), want);
  EXPECT_EQ(Run({"--target", kTarget}, data), want);
}

TEST_F(StatesTest, ValidationComparesWholeSequences) {
  const v1::Report report =
      ReportOf(cluster().Cli({"validate", model_, "--target", kTarget, "--data",
                              Write(false), "--json", "--quiet"}));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  // Outputs and layers: f, the next state, y.
  EXPECT_GE(report.bit_exact().outputs_compared(), 7 * kSamples);
}

TEST_F(StatesTest, BundlesTellWhatIsCarried) {
  const std::string bundle = sandbox().Path("bundle");
  const Outcome compiled = cluster().Cli(
      {"compile", model_, "--target", kTarget, "-o", bundle, "--quiet"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled;
  const auto manifest =
      nlohmann::json::parse(ReadWholeFile(bundle + "/manifest.json"));
  EXPECT_EQ(manifest.at("carries"),
            nlohmann::json::parse(R"([{"output": "state#next", "input": "state",
                                       "first_value": 0}])"));
  const std::string map = ReadWholeFile(bundle + "/memory_map.txt");
  EXPECT_TRUE(absl::StrContains(map, "\ncarry   ram ")) << map;
  EXPECT_TRUE(absl::StrContains(map, " state, 4 bytes, at first 0\n")) << map;
}

}  // namespace
}  // namespace edgekiln::tests
