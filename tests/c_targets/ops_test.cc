// Random graphs of every op on every element type as firmware: what the
// simulated core computes is what the interpreter does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

struct Graphs {
  std::string core;
  v1::CompilerFamily family;
  uint64_t seed;
  size_t step;  // Every `step`-th of those that have every op on every type.
};

class FirmwareOpsTest : public testing::TestWithParam<Graphs> {};

// Recipes take turns.
TEST_P(FirmwareOpsTest, EveryOpOnEveryTypeEqualsTheInterpreter) {
  const auto& [core, family, seed, step] = GetParam();
  const std::string missing = MissingCompiler(v1::RV32IMC, family);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  constexpr int kOpsPerGraph = 40;
  const auto graphs = compiler::GraphsOfAllCases(kOpsPerGraph, seed);
  ASSERT_TRUE(graphs.ok()) << graphs.status();
  RecordProperty("graphs", static_cast<int>(graphs->size() / step));
  for (size_t i = 0; i < graphs->size(); i += step) {
    SCOPED_TRACE(absl::StrCat("graph ", i));
    // Outputs of many ops keep the graph's order: UMA has no say there.
    constexpr v1::CRecipe::Kernels kKernels[] = {
        v1::CRecipe::KERNELS_UNSPECIFIED, v1::CRecipe::PLAIN,
        v1::CRecipe::TABLE, v1::CRecipe::SMALL};
    const absl::Status same = CompareFirmware(
        (*graphs)[i], core, kKernels[i / step % std::size(kKernels)], family);
    EXPECT_TRUE(same.ok()) << same;
  }
}

// Hundreds with EK_MORE_NETWORKS in the environment (`tools/test --full`).
std::vector<Graphs> AllGraphs() {
  if (getenv("EK_MORE_NETWORKS") == nullptr) {
    return {{"rv32imc", v1::GCC, 1, 4}, {"rv32imc", v1::CLANG, 2, 16}};
  }
  std::vector<Graphs> graphs;
  for (const char* core : {"rv32im", "rv32imc", "rv32imf"}) {
    for (const v1::CompilerFamily family : {v1::GCC, v1::CLANG}) {
      for (int i = 0; i < 2; ++i) {
        graphs.push_back({core, family, (graphs.size() + 1) * 50'000, 1});
      }
    }
  }
  return graphs;
}

INSTANTIATE_TEST_SUITE_P(All, FirmwareOpsTest, testing::ValuesIn(AllGraphs()),
                         [](const testing::TestParamInfo<Graphs>& info) {
                           return absl::StrCat(
                               info.param.core, "_",
                               v1::CompilerFamily_Name(info.param.family), "_",
                               info.param.seed);
                         });

// There is nothing beside code in flash, whatever length the code has.
TEST(FirmwareSectionsTest, NetworksWithoutConstants) {
  const std::string missing = MissingCompiler(v1::RV32IMC, v1::GCC);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
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

}  // namespace
}  // namespace edgekiln::tests
