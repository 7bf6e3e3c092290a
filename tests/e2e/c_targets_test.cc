// Targets that run the network as C code: built by a real compiler, run on the
// simulated core, or estimated.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kGcc[] = "/usr/bin/riscv64-unknown-elf-gcc";
constexpr char kArmGcc[] = "/usr/bin/arm-none-eabi-gcc";
constexpr char kClang[] = "/usr/bin/clang";
constexpr char kLld[] = "/usr/bin/ld.lld";

class CTargetsTest : public ClusterTest {
 protected:
  static std::string Digits() { return SourcePath("docs/example/digits.onnx"); }

  static std::vector<std::string> Profile(
      const std::string& target, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"profile", Digits(), "--target",
                                          target};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static v1::Report Report(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    return ReportOf(cluster().Cli(std::move(arguments)));
  }

  // rv32imc with another value of a parameter.
  static std::string Target(const std::string& parameter, int value) {
    return cluster().sandbox().Write(
        absl::StrCat(parameter, value, ".txtpb"),
        absl::StrCat(
            "schema_version: 1\nextends: \"rv32imc\"\nname: \"small\"\n",
            "set { name: \"", parameter, "\" value: ", value, " }\n"));
  }
};

TEST_F(CTargetsTest, TheSimulatedCoreComputesWhatTheReferenceDoes) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const v1::Report report = Report(Profile("rv32imc"));
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  const v1::Report::Totals& totals = report.totals();
  EXPECT_EQ(totals.fidelity(), v1::EXACT);
  EXPECT_EQ(totals.cycles(), totals.instructions());
  EXPECT_GT(totals.setup_instructions(), 0);
  EXPECT_LE(totals.cycles_min(), totals.cycles());
  EXPECT_GE(totals.cycles_max(), totals.cycles());
  int64_t cycles = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    cycles += layer.cycles();
  }
  EXPECT_EQ(cycles, totals.cycles());
  const v1::FirmwareSections& sections = report.memory().sections();
  EXPECT_GT(sections.text_bytes(), 1000);
  EXPECT_GT(sections.rodata_bytes(), 1000);
  const int64_t stored =
      sections.text_bytes() + sections.rodata_bytes() + sections.data_bytes();
  EXPECT_GE(report.memory().flash_bytes(), stored);
  EXPECT_LT(report.memory().flash_bytes(), stored + 32);  // Aligned.
  EXPECT_EQ(report.compiler().program(), "riscv64-unknown-elf-gcc");
  EXPECT_EQ(report.compiler().digest().size(), 64u);
  EXPECT_THAT(report.warnings(), ElementsAre());
  ExpectSame(report, Report(Profile("rv32imc")));
}

TEST_F(CTargetsTest, ActivationsOfOtherTypesAreTheSame) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const int64_t plain = Report(Profile("rv32imc")).memory().ram_bytes();
  for (const char* type : {"UINT8", "INT16"}) {
    const std::string file = cluster().sandbox().Write(
        absl::StrCat(type, ".txtpb"),
        absl::StrCat("activations: ACTIVATIONS_", type, "\n"));
    const v1::Report report =
        Report(Profile("rv32imc", {"--quantization", file}));
    EXPECT_GT(report.bit_exact().outputs_compared(), 0) << type;
    EXPECT_EQ(report.bit_exact().mismatches(), 0) << type;
    if (type[0] != 'I') continue;
    EXPECT_GT(report.memory().ram_bytes(), plain * 3 / 2);
  }
}

TEST_F(CTargetsTest, ClangMakesFirmwareThatComputesTheSame) {
  if (!std::filesystem::exists(kClang) || !std::filesystem::exists(kLld)) {
    const v1::ErrorDetail error =
        FailureOf(cluster(), Profile("rv32imc", {"--compiler", "clang"}), 4);
    EXPECT_NAMES(error, "apt-get install clang lld");
    return;
  }
  const v1::Report report = Report(Profile("rv32imc", {"--compiler", "clang"}));
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.compiler().program(), "clang");
  EXPECT_GT(report.memory().sections().stack_bytes(), 0);
  ExpectSame(report, Report(Profile("rv32imc", {"--compiler", "clang"})));
  // Calls by pointer, too, have a bound of the stack.
  for (const char* target : {"rv32imc", "cortex-m4", "x86-64"}) {
    const v1::Report table =
        Report(Profile(target, {"--compiler", "clang", "--recipe", "table"}));
    EXPECT_GT(table.memory().sections().text_bytes(), 1000) << target;
    EXPECT_GT(table.memory().sections().stack_bytes(), 0) << target;
  }
}

TEST_F(CTargetsTest, EveryRecipeComputesTheSame) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const int64_t fastest = Report(Profile("rv32imc")).totals().cycles();
  for (const char* recipe : {"size", "plain", "uma", "table"}) {
    const v1::Report report = Report(Profile("rv32imc", {"--recipe", recipe}));
    EXPECT_EQ(report.bit_exact().mismatches(), 0) << recipe;
    EXPECT_GT(report.totals().cycles(), fastest) << recipe;
  }
}

TEST_F(CTargetsTest, ACostTableMakesCyclesOfInstructions) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const v1::Report one = Report(Profile("rv32imc"));
  const v1::Report waits = Report(Profile(Target("flash_wait", 2)));
  const v1::Report guessed =
      Report(Profile(Target("flash_wait", 2), {"--compiler", "none"}));
  EXPECT_GT(guessed.totals().cycles(), 2 * one.totals().cycles());
  EXPECT_EQ(waits.totals().instructions(), one.totals().instructions());
  EXPECT_GT(waits.totals().cycles(), 2 * one.totals().cycles());
  EXPECT_EQ(waits.totals().fidelity(), v1::CYCLE_APPROXIMATE);
}

TEST_F(CTargetsTest, WhatDoesNotFitSaysWhatWould) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const v1::ErrorDetail flash =
      FailureOf(cluster(), Profile(Target("flash_bytes", 4096)), 1);
  EXPECT_NAMES(flash, "4096");
  const v1::ErrorDetail ram =
      FailureOf(cluster(), Profile(Target("ram_bytes", 2560)), 1);
  EXPECT_NAMES(ram, "ram");
}

TEST_F(CTargetsTest, EstimatesRefuseWhatIsFarTooLarge) {
  const v1::ErrorDetail flash = FailureOf(
      cluster(), Profile(Target("flash_bytes", 8192), {"--compiler", "none"}),
      1);
  EXPECT_NAMES(flash, "by estimate");
}

TEST_F(CTargetsTest, WithoutACompilerThereAreCAndEstimates) {
  const v1::Report report = Report(Profile("rv32imc", {"--compiler", "none"}));
  EXPECT_EQ(report.totals().fidelity(), v1::ESTIMATE);
  EXPECT_GT(report.totals().cycles(), 0);
  EXPECT_FALSE(report.has_bit_exact());
  EXPECT_THAT(report.warnings(), ElementsAre(HasSubstr("no compiler")));
}

TEST_F(CTargetsTest, ACompilerThatNobodyHasIsNamedWithItsPackage) {
  if (std::filesystem::exists(kArmGcc)) {
    const v1::Report report = Report(Profile("cortex-m4"));
    EXPECT_GT(report.memory().sections().text_bytes(), 1000);
    EXPECT_EQ(report.totals().fidelity(), v1::ESTIMATE);
    EXPECT_FALSE(report.has_bit_exact());
    return;
  }
  const v1::ErrorDetail error = FailureOf(cluster(), Profile("cortex-m4"), 4);
  EXPECT_NAMES(error, "arm-none-eabi-gcc");
  EXPECT_NAMES(error, "--compiler none");
}

TEST_F(CTargetsTest, TheBundleChecksItself) {
  const std::string folder = cluster().sandbox().Path("bundle");
  const v1::Report report = Report({"compile", Digits(), "--target", "rv32imc",
                                    "--compiler", "none", "-o", folder});
  EXPECT_GT(report.layers_size(), 0);
  for (const char* file :
       {"c/Makefile", "c/check.c", "c/firmware.ld", "c/runtime.c", "c/start.S",
        "manifest.json", "program.pb"}) {
    EXPECT_TRUE(std::filesystem::exists(absl::StrCat(folder, "/", file)))
        << file;
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/firmware.elf"));
  const std::string said = cluster().sandbox().Path("make.out");
  const auto make =
      Process::Start({.program = "/usr/bin/make",
                      .arguments = {"-C", folder + "/c", "check",
                                    "CFLAGS=-O1 -Wall -Wextra -Werror "
                                    "-fsanitize=address,undefined"},
                      .environment = {},
                      .stdout_path = said,
                      .stderr_path = cluster().sandbox().Path("make.err")});
  ASSERT_NE(make, nullptr);
  EXPECT_EQ(make->WaitFor(absl::Seconds(120)), 0)
      << ReadWholeFile(cluster().sandbox().Path("make.err"));
  EXPECT_THAT(ReadWholeFile(said), HasSubstr("2 samples equal"));
  // In a program of C++, too.
  for (const char* file : {"digits.c", "check.c"}) {
    const auto cxx =
        Process::Start({.program = EK_CXX_COMPILER,
                        .arguments = {"-x", "c++", "-fsyntax-only", "-Wall",
                                      "-Wextra", "-Wshadow", "-Werror",
                                      absl::StrCat(folder, "/c/", file)},
                        .environment = {},
                        .stdout_path = cluster().sandbox().Path("cxx.out"),
                        .stderr_path = cluster().sandbox().Path("cxx.err")});
    ASSERT_NE(cxx, nullptr);
    EXPECT_EQ(cxx->WaitFor(absl::Seconds(120)), 0)
        << ReadWholeFile(cluster().sandbox().Path("cxx.err"));
  }
}

TEST_F(CTargetsTest, NetworksOfTwoNamesLinkIntoOneProgram) {
  const auto compile = [](const std::string& name) {
    const std::string folder = cluster().sandbox().Path("named_" + name);
    std::vector<std::string> arguments = {"compile", Digits(),     "--target",
                                          "rv32imc", "--compiler", "none",
                                          "-o",      folder};
    if (!name.empty()) arguments.insert(arguments.end(), {"--name", name});
    EXPECT_EQ(cluster().Cli(arguments).exit_code, 0) << name;
    return folder;
  };
  // The name that it has changes nothing.
  EXPECT_EQ(ReadWholeFile(compile("") + "/manifest.json"),
            ReadWholeFile(compile("digits") + "/manifest.json"));
  const std::string program = cluster().sandbox().Path("two");
  const std::string main = cluster().sandbox().Write("two_main.c", R"(
#include <string.h>
#include "first.h"
#include "second.h"
int main(void) {
  for (int i = 0; i < FIRST_INPUT_0_ELEMENTS; ++i) {
    FIRST_INPUT_0[i] = (signed char)(i % 100);
    SECOND_INPUT_0[i] = (signed char)(i % 100);
  }
  if (first_invoke() != 0 || second_invoke() != 0) return 1;
  return memcmp((const void*)FIRST_OUTPUT_0, (const void*)SECOND_OUTPUT_0,
                FIRST_OUTPUT_0_ELEMENTS) != 0;
}
)");
  const std::string first = compile("first") + "/c/";
  const std::string second = compile("second") + "/c/";
  const std::string said = cluster().sandbox().Path("two.err");
  const auto build = Process::Start(
      {.program = "/usr/bin/gcc",
       .arguments = {"-std=c99", "-Wall", "-Wextra", "-Werror",
                     "-ffp-contract=off", "-I", first, "-I", second, main,
                     first + "first.c", second + "second.c", "-o", program},
       .environment = {},
       .stdout_path = cluster().sandbox().Path("two.out"),
       .stderr_path = said});
  ASSERT_NE(build, nullptr);
  ASSERT_EQ(build->WaitFor(absl::Seconds(120)), 0) << ReadWholeFile(said);
  const auto run =
      Process::Start({.program = program,
                      .arguments = {},
                      .environment = {},
                      .stdout_path = cluster().sandbox().Path("two.out"),
                      .stderr_path = said});
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->WaitFor(absl::Seconds(60)), 0);
}

TEST_F(CTargetsTest, HotSpotsSumUpAndNameTheSource) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const v1::Report plain = Report(Profile("rv32imc"));
  EXPECT_FALSE(plain.has_hot_spots());
  const v1::Report report = Report(Profile("rv32imc", {"--hot"}));
  const v1::HotSpots& spots = report.hot_spots();
  EXPECT_EQ(spots.instructions(), plain.totals().instructions());
  EXPECT_EQ(spots.cycles(), report.totals().cycles());
  int64_t instructions = 0;
  for (const v1::HotSpots::Function& function : spots.functions()) {
    instructions += function.instructions();
  }
  EXPECT_EQ(instructions, spots.instructions());
  // Nothing else is another than without.
  v1::Report without = report;
  without.clear_hot_spots();
  ExpectSame(without, plain);
  const v1::HotSpots::Function& hottest = spots.functions(0);
  EXPECT_EQ(hottest.file(), "digits.c");
  EXPECT_THAT(hottest.name(), HasSubstr("digits_layer_"));
  ASSERT_LT(hottest.layer(), report.layers_size());
  EXPECT_GE(report.layers(hottest.layer()).cycles(), hottest.cycles());
  EXPECT_EQ(spots.lines(0).file(), "digits.c");
  EXPECT_NE(spots.lines(0).text(), "");
  ASSERT_GT(spots.loops_size(), 0);
  for (const v1::HotSpots::Loop& loop : spots.loops()) {
    int64_t executed = 0;
    for (const v1::HotSpots::Instruction& at : loop.instructions()) {
      executed += at.executed();
      EXPECT_NE(at.text(), "");
    }
    EXPECT_EQ(executed, loop.executed());
  }
}

TEST_F(CTargetsTest, HotSpotsSimulateNoSampleAgain) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  // A seed that no other test has.
  const std::vector<std::string> more = {"--seed", "4711"};
  Report(Profile("rv32imc", more));
  const v1::Report report =
      Report(Profile("rv32imc", {"--seed", "4711", "--hot"}));
  int simulated = 0;
  for (const v1::Report::Stage& stage : report.stages()) {
    if (stage.name() == "build_firmware" || stage.name() == "count_cycles") {
      continue;
    }
    EXPECT_EQ(stage.cache(), v1::Report::Stage::HIT) << stage.name();
    simulated += absl::StartsWith(stage.name(), "simulate") ? 1 : 0;
  }
  EXPECT_GT(simulated, 0);
}

TEST_F(CTargetsTest, HotSpotsAreShownBehindTheLayers) {
  if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  const Outcome result =
      cluster().Cli(Profile(Target("flash_wait", 2), {"--hot"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("FUNCTION"));
  EXPECT_THAT(result.out, HasSubstr("digits.c:"));
  EXPECT_THAT(result.out, HasSubstr("loop in digits_layer_"));
  EXPECT_THAT(result.out, HasSubstr("CYCLES  ADDRESS"));
}

TEST_F(CTargetsTest, HotSpotsAreRefusedWhereNothingIsSimulated) {
  const v1::ErrorDetail estimated =
      FailureOf(cluster(), Profile("cortex-m4", {"--hot"}), 1);
  EXPECT_NAMES(estimated, "nothing simulates cortex-m4");
  EXPECT_NAMES(estimated, "--hot");
  const v1::ErrorDetail engine =
      FailureOf(cluster(), Profile("dla-64-o-512k", {"--hot"}), 1);
  EXPECT_NAMES(engine, "the target runs none");
  EXPECT_NAMES(engine, "rv32imc");
}

}  // namespace
}  // namespace edgekiln::tests
