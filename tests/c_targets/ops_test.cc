// Random graphs of every op on every element type as firmware: what the
// simulated core computes is what the interpreter does.

#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/testing/op_cases.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "tests/c_targets/firmware_build.h"
#include "tests/c_targets/firmware_comparison.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

class FirmwareOpsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = MissingCompiler(v1::RV32IMC, v1::GCC);
    if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  }

  // Every `step`-th of the graphs that have every op on every type; recipes by
  // turns.
  static void ExpectEqual(uint64_t seed, size_t step,
                          const std::vector<std::string>& targets,
                          v1::CompilerFamily family = v1::GCC) {
    constexpr int kOpsPerGraph = 40;
    const auto graphs = compiler::GraphsOfAllCases(kOpsPerGraph, seed);
    ASSERT_TRUE(graphs.ok()) << graphs.status();
    for (size_t i = 0; i < graphs->size(); i += step) {
      for (const std::string& target : targets) {
        SCOPED_TRACE(absl::StrCat("graph ", i, " on ", target));
        // Outputs of many ops keep the graph's order: UMA has no say there.
        constexpr v1::CRecipe::Kernels kKernels[] = {
            v1::CRecipe::KERNELS_UNSPECIFIED, v1::CRecipe::PLAIN,
            v1::CRecipe::TABLE, v1::CRecipe::SMALL};
        const absl::Status same =
            CompareFirmware((*graphs)[i], target,
                            kKernels[i / step % std::size(kKernels)], family);
        EXPECT_TRUE(same.ok()) << same;
      }
    }
  }
};

TEST_F(FirmwareOpsTest, SomeOfAllOps) { ExpectEqual(1, 4, {"rv32imc"}); }

TEST_F(FirmwareOpsTest, SomeOfAllOpsByClang) {
  const std::string missing = MissingCompiler(v1::RV32IMC, v1::CLANG);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  ExpectEqual(2, 16, {"rv32imc"}, v1::CLANG);
}

// There is nothing beside code in flash, whatever length the code has.
TEST_F(FirmwareOpsTest, NetworksWithoutConstants) {
  for (const char* function : {"ABS", "NEG", "FLOOR", "SQRT"}) {
    const auto graph = compiler::ParseGraph(
        absl::StrCat("graph \"net\"\n%x : float32[1,4] = input\n"
                     "%y : float32[1,4] = unary(%x) {function ",
                     function, "} id y\nreturn %y\n"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::Status same =
        CompareFirmware(*graph, "rv32imc", v1::CRecipe::KERNELS_UNSPECIFIED);
    EXPECT_TRUE(same.ok()) << function << same;
  }
}

TEST_F(FirmwareOpsTest, DISABLED_AllOpsOnAllCores) {
  for (uint64_t seed = 1; seed < 200'000; seed += 50'000) {
    for (const v1::CompilerFamily family : {v1::GCC, v1::CLANG}) {
      ExpectEqual(seed, 1, {"rv32im", "rv32imc", "rv32imf"}, family);
    }
  }
}

}  // namespace
}  // namespace edgekiln::tests
