// --recipe with the real stages: what another recipe runs again, what the
// report says, and how an unknown one is refused.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";

class RecipesTest : public ClusterTest {
 protected:
  static std::string Model() { return SourcePath("docs/example/digits.onnx"); }

  static v1::Report Profile(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"profile", Model(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ReportOf(cluster().Cli(arguments));
  }
};

TEST_F(RecipesTest, AnotherRecipeRunsAgainWhatItChanges) {
  const v1::Report usual = Profile({"--target", kTarget});
  const v1::Report serial =
      Profile({"--target", kTarget, "--recipe", "serial"});
  EXPECT_EQ(usual.recipe(), "default");
  EXPECT_EQ(serial.recipe(), "serial");
  EXPECT_GT(serial.totals().cycles(), usual.totals().cycles());
  EXPECT_GT(serial.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(serial.bit_exact().mismatches(), 0);
  EXPECT_EQ(
      StagesWith(serial, v1::Report::Stage::MISS),
      (std::vector<std::string>{"count_cycles", "emit", "simulate", "tile"}));
  for (const char* stage : {"import", "simplify", "resolve_target", "check_fit",
                            "calibrate", "quantize", "set_io", "partition"}) {
    const std::vector<std::string> hits =
        StagesWith(serial, v1::Report::Stage::HIT);
    EXPECT_NE(std::find(hits.begin(), hits.end(), stage), hits.end()) << stage;
  }
  const v1::Report named =
      Profile({"--target", kTarget, "--recipe", "default"});
  EXPECT_TRUE(StagesWith(named, v1::Report::Stage::MISS).empty());
  ExpectSame(usual, named);
}

TEST_F(RecipesTest, ADescriptorFileHasItsOwn) {
  const std::string chip = sandbox().Write(
      "chip.txtpb", "extends: \"dla\" set { name: \"pes\" value: 32 }");
  const v1::Report serial = Profile({"--target", chip, "--recipe", "serial"});
  EXPECT_EQ(serial.recipe(), "serial");
  const v1::ErrorDetail error = FailureOf(
      cluster(), {"profile", Model(), "--target", chip, "--recipe", "seriell"},
      1);
  EXPECT_EQ(error.reason(), "RECIPE_UNKNOWN");
  EXPECT_NAMES(error, "one of: default, serial");
  EXPECT_NAMES(error, "did you mean \"serial\"?");
  const Outcome checked = cluster().Cli({"targets", "check", chip});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_TRUE(absl::StrContains(checked.out, "serial")) << checked;
}

TEST_F(RecipesTest, UnknownOnesAreRefusedByEveryCommand) {
  const std::string out = sandbox().Path("out.npz");
  for (std::vector<std::string> command :
       {std::vector<std::string>{"inspect", Model()},
        {"compile", Model()},
        {"profile", Model()},
        {"validate", Model(), "--data",
         SourcePath("docs/example/digits_test.npz")},
        {"run", Model(), "--data", SourcePath("docs/example/digits_test.npz"),
         "-o", out}}) {
    SCOPED_TRACE(command[0]);
    command.insert(command.end(), {"--target", kTarget, "--recipe", "x"});
    const v1::ErrorDetail error = FailureOf(cluster(), command, 1);
    EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
    EXPECT_EQ(error.reason(), "RECIPE_UNKNOWN");
    EXPECT_NAMES(error, "target 'dla-64-o-512k'");
    EXPECT_NAMES(error, "one of: default, serial");
  }
}

TEST_F(RecipesTest, TheManifestNamesIt) {
  const std::string folder = sandbox().Path("bundle");
  const Outcome outcome =
      cluster().Cli({"compile", Model(), "--target", kTarget, "--recipe",
                     "serial", "-o", folder});
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_TRUE(absl::StrContains(ReadWholeFile(folder + "/manifest.json"),
                                "\"recipe\": \"serial\""));
}

TEST_F(RecipesTest, InspectAndTargetsTellThem) {
  const v1::ModelDescription description =
      DescriptionOf(cluster().Cli({"inspect", Model(), "--target", kTarget,
                                   "--recipe", "serial", "--json"}));
  EXPECT_EQ(description.recipe(), "serial");
  const Outcome list = cluster().Cli({"targets", "list"});
  EXPECT_TRUE(absl::StrContains(list.out, "RECIPE")) << list;
  EXPECT_TRUE(absl::StrContains(list.out, "serial")) << list;
  const Outcome shown = cluster().Cli({"targets", "show", kTarget});
  EXPECT_TRUE(absl::StrContains(shown.out, "recipes {")) << shown;
}

}  // namespace
}  // namespace edgekiln::tests
