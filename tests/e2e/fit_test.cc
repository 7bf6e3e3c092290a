// What does not fit: the target, said before the work is done, and a worker,
// said once and as the user's error.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"

namespace edgekiln::tests {
namespace {

using compiler::onnx_import::TestModel;

constexpr int64_t kWidth = 1024;

// Two float layers of kWidth x kWidth weights each.
std::string Perceptron() {
  const std::vector<float> first(kWidth * kWidth, 0.001f);
  const std::vector<float> second(kWidth * kWidth, 0.002f);
  return TestModel()
      .Input("x", {1, kWidth})
      .Floats("first", {kWidth, kWidth}, first)
      .Floats("second", {kWidth, kWidth}, second)
      .Output("y")
      .Node("MatMul", {"x", "first"}, {"h"})
      .Node("Relu", {"h"}, {"r"})
      .Node("MatMul", {"r", "second"}, {"y"})
      .bytes();
}

std::string Chip(Sandbox& sandbox, const std::string& memory, int64_t bytes) {
  return sandbox.Write("chip.txtpb",
                       absl::StrCat("extends: \"dla\"\nset { name: \"", memory,
                                    "_bytes\" value: ", bytes, " }\n"));
}

// One layer of int8 values: `elements` in and as many out.
std::string Rectifier(std::vector<int64_t> shape) {
  return TestModel()
      .Input("x", std::move(shape))
      .Output("y")
      .Node("Relu", {"x"}, {"y"})
      .bytes();
}

class FitTest : public ClusterTest {
 protected:
  static v1::ErrorDetail Fails(const std::string& model,
                               const std::string& memory, int64_t bytes) {
    return FailureOf(cluster(),
                     {"compile", sandbox().Write("net.onnx", model), "--target",
                      Chip(sandbox(), memory, bytes)},
                     1);
  }
};

// "2121728 bytes", "8192 bytes at least".
int64_t Bytes(const std::string& need) {
  int64_t bytes = 0;
  const std::string number = need.substr(0, need.find(' '));
  EXPECT_TRUE(absl::SimpleAtoi(number, &bytes)) << need;
  return bytes;
}

bool Says(const v1::ErrorDetail& error, const std::string& stage) {
  return absl::StrContains(error.message(), absl::StrCat(": ", stage, ": "));
}

TEST_F(FitTest, ConstantsAreComparedWithFlashBeforeCalibration) {
  const v1::ErrorDetail error = Fails(Perceptron(), "flash", 1 << 20);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_EQ(error.reason(), "MEMORY_TOO_SMALL");
  EXPECT_TRUE(Says(error, "check_fit")) << error.message();
  EXPECT_NAMES(error, "memory flash");
  EXPECT_NAMES(error, "first");
  EXPECT_NAMES(error, "1048576 bytes");
  // A byte for each weight, and the engine's entries for each channel.
  const int64_t need = Bytes(error.need());
  EXPECT_GE(need, 2 * kWidth * kWidth) << TextOf(error);
  EXPECT_LT(need, 2 * kWidth * kWidth + (64 << 10)) << TextOf(error);

  // How long the command streams will be is known later.
  const v1::ErrorDetail later = Fails(Perceptron(), "flash", need);
  EXPECT_TRUE(Says(later, "emit")) << later.message();
  const int64_t all = Bytes(later.need());
  EXPECT_GT(all, need);
  // With that much it fits, with a byte less it does not.
  const Outcome fits = cluster().Cli({"compile", sandbox().Path("net.onnx"),
                                      "--target", Chip(sandbox(), "flash", all),
                                      "-o", sandbox().Path("out")});
  EXPECT_EQ(fits.exit_code, 0) << fits;
  EXPECT_EQ(Bytes(Fails(Perceptron(), "flash", all - 1).need()), all);
}

TEST_F(FitTest, ActivationsAreComparedWithRamBeforeCalibration) {
  const v1::ErrorDetail error = Fails(Rectifier({1, 4096}), "ram", 4096);
  EXPECT_EQ(error.reason(), "MEMORY_TOO_SMALL");
  EXPECT_TRUE(Says(error, "check_fit")) << error.message();
  EXPECT_NAMES(error, "memory ram");
  EXPECT_NAMES(error, "4096 bytes");
  EXPECT_NAMES(error, "8192 bytes at least");
}

TEST_F(FitTest, InspectTellsIt) {
  const v1::ModelDescription model = DescriptionOf(
      cluster().Cli({"inspect", sandbox().Write("net.onnx", Perceptron()),
                     "--target", Chip(sandbox(), "flash", 1 << 20), "--json"}));
  ASSERT_EQ(model.problems_size(), 1);
  EXPECT_EQ(model.problems(0).reason(), "MEMORY_TOO_SMALL");
}

// 4 million values, 16 samples.
TEST(WorkerMemoryTest, TheUserIsToldOfTheLimitAndAnotherWorkerMayHaveMore) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const std::string model =
      cluster->sandbox().Write("net.onnx", TestModel()
                                               .Input("x", {4, 1 << 20})
                                               .Output("y")
                                               .Node("Relu", {"x"}, {"y"})
                                               .bytes());
  const std::vector<std::string> compile = {
      "compile",       model, "--target",
      "dla-64-o-512k", "-o",  cluster->sandbox().Path("out")};
  const int small = cluster->AddWorker({"--memory-limit", "400MiB"});
  const v1::ErrorDetail error = FailureOf(*cluster, compile, 1);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_EQ(error.reason(), "STAGE_OUT_OF_MEMORY");
  EXPECT_NAMES(error, "400 MiB");
  EXPECT_NAMES(error, "at least 512 MiB");
  EXPECT_NAMES(error, "--memory-limit");
  cluster->StopWorker(small);
  cluster->AddWorker();
  const Outcome outcome = cluster->Cli(compile);
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
}

}  // namespace
}  // namespace edgekiln::tests
