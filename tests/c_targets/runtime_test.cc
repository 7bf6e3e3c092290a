// The arithmetic that firmware brings along, on simulated cores: what it
// computes is what this machine does.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/firmware.h"
#include "tests/c_targets/firmware_build.h"
#include "tests/c_targets/runtime_check.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

constexpr char kNet[] = R"(graph "net"
%x : float32[1,4] = input
%y : float32[1,4] = unary(%x) {function ABS} id y
return %y
)";

struct Case {
  std::string target;
  v1::CompilerFamily family;
};

class FirmwareRuntimeTest : public testing::TestWithParam<Case> {};

// The network runs after the check, whose result is that of the run.
void AddCheck(const std::string& text, v1::CSourceTree& tree) {
  for (v1::CSourceTree::File& file : *tree.mutable_files()) {
    if (file.path() != "start.S") continue;
    file.set_text(
        absl::StrReplaceAll(file.text(), {{"net_invoke", "ek_check"}}));
  }
  v1::CSourceTree::File& check = *tree.add_files();
  check.set_path("check.c");
  check.set_text(absl::StrCat(
      text,
      "int net_invoke(void);\nint ek_check(void);\nint ek_check(void) {\n"
      "  const int wrong = ek_runtime_check();\n"
      "  return wrong != 0 ? wrong : net_invoke();\n}\n"));
  std::sort(tree.mutable_files()->begin(), tree.mutable_files()->end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
}

absl::Status RunCheck(const Case& test, const std::string& check) {
  const auto graph = compiler::ParseGraph(kNet);
  if (!graph.ok()) return graph.status();
  const auto machine = MachineOf(test.target);
  if (!machine.ok()) return machine.status();
  const auto built = BuildFirmware(
      *graph, *machine, v1::CRecipe::KERNELS_UNSPECIFIED,
      [&](v1::CSourceTree& tree) { AddCheck(check, tree); }, test.family);
  if (!built.ok()) return built.status();
  const auto session =
      simfarm::LoadSession(built->program, built->elf, *machine, {});
  if (!session.ok()) return session.status();
  std::vector<std::string> outputs;
  return (*session)->Run({std::string(16, '\0')}, nullptr, &outputs);
}

TEST_P(FirmwareRuntimeTest, ComputesWhatThisMachineDoes) {
  const std::string missing = MissingCompiler(v1::RV32IMC, GetParam().family);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  const auto check = RuntimeCheckText();
  ASSERT_TRUE(check.ok()) << check.status();
  const absl::Status same = RunCheck(GetParam(), *check);
  EXPECT_TRUE(same.ok()) << same;
}

// The last group, with another hash.
TEST(FirmwareRuntimeCheckTest, ADifferenceIsNoticed) {
  const std::string missing = MissingCompiler(v1::RV32IMC, v1::GCC);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  const auto check = RuntimeCheckText();
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_FALSE(
      RunCheck({"rv32imc", v1::GCC},
               absl::StrReplaceAll(*check, {{"u,\n};", "u ^ 1u,\n};"}}))
          .ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, FirmwareRuntimeTest,
    testing::Values(Case{"rv32im", v1::GCC}, Case{"rv32imc", v1::GCC},
                    Case{"rv32imf", v1::GCC}, Case{"rv32im", v1::CLANG},
                    Case{"rv32imc", v1::CLANG}, Case{"rv32imf", v1::CLANG}),
    [](const auto& info) {
      return absl::StrCat(info.param.target, "_",
                          target::CompilerFamilyName(info.param.family));
    });

}  // namespace
}  // namespace edgekiln::tests
