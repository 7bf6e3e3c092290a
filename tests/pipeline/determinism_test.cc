// The same bytes whatever the processor can do, however many threads compile,
// and whatever was compiled before.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ops/cpu_path.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

constexpr int64_t kSamples = 24;

struct PathCase {
  const char* name;
  ops::CpuPath path;
  const char* instructions;  // As in /proc/cpuinfo.
};

FloatModel Digits() {
  return {ReadWholeFile(SourcePath("docs/example/digits.onnx")),
          ReadWholeFile(SourcePath("docs/example/digits_calibration.npz")),
          kSamples};
}

FloatModel Resnet8() {
  return {ReadWholeFile(SharedPath("models/resnet8_fp32.onnx")),
          ReadWholeFile(SharedPath("data/cifar10_calib_487.npz")), kSamples};
}

// From the model's file to the program; a failure gives "".
std::string Compile(const FloatModel& model, ops::CpuPath path,
                    const v1::ResolvedTarget& target) {
  const auto graph = QuantizedGraph(model, path);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return "";
  const absl::StatusOr<std::string> bytes = ProgramBytes(*graph, target);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

v1::ResolvedTarget Target() {
  return TargetWithScratchpad("extends: \"dla-64-o-512k\"", 512 << 10);
}

class CpuPathTest : public testing::TestWithParam<PathCase> {
 protected:
  static void Check(const FloatModel& model) {
    if (ops::ResolveCpuPath(GetParam().path) != GetParam().path) {
      GTEST_SKIP() << NoInstructionsText(GetParam().instructions);
    }
    const std::string scalar = Compile(model, ops::CpuPath::kScalar, Target());
    ASSERT_FALSE(scalar.empty());
    EXPECT_TRUE(Compile(model, GetParam().path, Target()) == scalar)
        << "other bytes with " << GetParam().name;
  }
};

TEST_P(CpuPathTest, DigitsGivesTheSameProgram) { Check(Digits()); }

TEST_P(CpuPathTest, Resnet8GivesTheSameProgram) {
  EK_REQUIRE_SHARED("models/resnet8_fp32.onnx");
  EK_REQUIRE_SHARED("data/cifar10_calib_487.npz");
  Check(Resnet8());
}

INSTANTIATE_TEST_SUITE_P(
    Paths, CpuPathTest,
    testing::Values(PathCase{"avx2", ops::CpuPath::kAvx2, "avx2"},
                    PathCase{"avx512", ops::CpuPath::kAvx512,
                             "avx512f, avx512bw or avx512vl"}),
    [](const auto& info) { return info.param.name; });

// No stage has a thread count of its own; eight compilations at once on eight
// threads are what a daemon's workers amount to.
TEST(DeterminismTest, EightThreadsGiveTheSameProgram) {
  const FloatModel model = Digits();
  const std::string alone = Compile(model, ops::CpuPath::kAuto, Target());
  ASSERT_FALSE(alone.empty());
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&model, &result] {
      result = Compile(model, ops::CpuPath::kAuto, Target());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_TRUE(result == alone);
}

TEST(DeterminismTest, OrderOfCompilationsDoesNotMatter) {
  EK_REQUIRE_SHARED("models/resnet8_fp32.onnx");
  EK_REQUIRE_SHARED("data/cifar10_calib_487.npz");
  const v1::ResolvedTarget small =
      TargetWithScratchpad("extends: \"dla-128-i-512k\"", 64 << 10);
  const auto compile = [&](bool digits, bool is_small) {
    return Compile(digits ? Digits() : Resnet8(), ops::CpuPath::kAuto,
                   is_small ? small : Target());
  };
  const std::vector<std::string> forwards = {
      compile(true, false), compile(true, true), compile(false, false),
      compile(false, true)};
  std::vector<std::string> backwards = {
      compile(false, true), compile(false, false), compile(true, true),
      compile(true, false)};
  std::reverse(backwards.begin(), backwards.end());
  for (size_t i = 0; i < forwards.size(); ++i) {
    EXPECT_FALSE(forwards[i].empty());
    EXPECT_TRUE(forwards[i] == backwards[i]) << i;
    // All four are different programs: the comparison can fail.
    EXPECT_FALSE(forwards[i] == forwards[(i + 1) % 4]) << i;
  }
}

// Copies of equal graphs in other memory: nothing depends on addresses.
TEST(DeterminismTest, AStoredGraphGivesTheSameProgram) {
  const auto graph = QuantizedGraph(Digits(), ops::CpuPath::kAuto);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto stored = compiler::GraphFromProto(compiler::GraphToProto(*graph));
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto direct = ProgramBytes(*graph, Target());
  const auto again = ProgramBytes(*stored, Target());
  ASSERT_TRUE(direct.ok()) << direct.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(*direct == *again);
}

}  // namespace
}  // namespace edgekiln::tests
