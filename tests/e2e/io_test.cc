// Integers or the model's own types at inputs and outputs of the chip: the
// cycles tell, nothing else does.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";

class IoTest : public ClusterTest {
 protected:
  static std::vector<std::string> Digits(const std::string& command,
                                         const std::string& io) {
    return {command,         SourcePath("docs/example/digits.onnx"),
            "--target",      kTarget,
            "--calibration", SourcePath("docs/example/digits_calibration.npz"),
            "--io",          io,
            "--quiet"};
  }
  static v1::Report ValidateDigits(const std::string& io) {
    std::vector<std::string> arguments = Digits("validate", io);
    arguments.insert(
        arguments.end(),
        {"--data", SourcePath("docs/example/digits_test.npz"), "--json"});
    return ReportOf(cluster().Cli(arguments));
  }
};

int LayersOf(const v1::Report& report, const std::string& op) {
  int count = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    count += layer.op() == op;
  }
  return count;
}

TEST_F(IoTest, CyclesDifferAndNothingElse) {
  const v1::Report integer = ValidateDigits("int");
  const v1::Report with_floats = ValidateDigits("float");
  ExpectConsistent(integer);
  ExpectConsistent(with_floats);
  EXPECT_EQ(LayersOf(integer, "quantize"), 0);
  EXPECT_EQ(LayersOf(integer, "dequantize"), 0);
  EXPECT_EQ(LayersOf(with_floats, "quantize"), 1);
  EXPECT_EQ(LayersOf(with_floats, "dequantize"), 1);
  EXPECT_EQ(integer.totals().io(), v1::IO_INTEGER);
  EXPECT_EQ(with_floats.totals().io(), v1::IO_FLOAT);
  EXPECT_LT(integer.totals().cycles(), with_floats.totals().cycles());
  EXPECT_EQ(integer.totals().cycles_other_io(), with_floats.totals().cycles());
  EXPECT_EQ(with_floats.totals().cycles_other_io(), integer.totals().cycles());
  EXPECT_EQ(integer.accuracy().DebugString(),
            with_floats.accuracy().DebugString());
  EXPECT_GT(integer.accuracy().samples(), 0);
  EXPECT_EQ(integer.bit_exact().mismatches(), 0);
  EXPECT_EQ(with_floats.bit_exact().mismatches(), 0);
  // An input under another shape is nothing that could be compared.
  EXPECT_EQ(integer.warnings_size(), 0) << integer.warnings(0);
}

TEST_F(IoTest, RunTakesAndGivesTheModelsOwnTypes) {
  const std::string model = "models/resnet8_int8_qdq.onnx";
  const std::string golden = "models/golden/resnet8_int8_qdq.npz";
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(golden);
  const std::string in = sandbox().Path("in.npz");
  WriteGoldenInputs(NpzOf(SharedPath(golden)), in);
  const auto run = [&](const std::string& io) {
    const std::string out = sandbox().Path(io + ".npz");
    const Outcome outcome =
        cluster().Cli({"run", SharedPath(model), "--target", kTarget, "--data",
                       in, "-o", out, "--io", io});
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    return ReadWholeFile(out);
  };
  const std::string integer = run("int");
  EXPECT_FALSE(integer.empty());
  EXPECT_TRUE(integer == run("float"));
}

// The first output is a reconstruction of 640 floats: dequantized by us.
TEST_F(IoTest, OutputsOfTheChipAreConvertedBack) {
  const std::string model = "models/ad_int8_qdq.onnx";
  const std::string golden = "models/golden/ad_int8_qdq.npz";
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(golden);
  const auto values = NpzOf(SharedPath(golden));
  const std::string in = sandbox().Path("ad.npz");
  const std::string out = sandbox().Path("ad_out.npz");
  WriteGoldenInputs(values, in);
  const Outcome outcome = cluster().Cli(
      {"run", SharedPath(model), "--target", kTarget, "--data", in, "-o", out});
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  ExpectGoldenOutputs(values, out, 0);
}

TEST_F(IoTest, TheBundleTellsWhatTheCallerConverts) {
  const auto compile = [&](const std::string& io) {
    const std::string folder = sandbox().Path("bundle-" + io);
    std::vector<std::string> arguments = Digits("compile", io);
    arguments.insert(arguments.end(), {"-o", folder});
    const Outcome outcome = cluster().Cli(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    return folder;
  };
  const std::string integer = compile("int");
  const std::string map = ReadWholeFile(integer + "/memory_map.txt");
  EXPECT_TRUE(absl::StrContains(map, " INT8[")) << map;
  // Constants and streams are what flash is used for.
  EXPECT_TRUE(absl::StrContains(map, "\nstream  flash ")) << map;
  const auto size = [&](const std::string& file) {
    return ReadWholeFile(integer + "/" + file).size();
  };
  const size_t flash = size("constants.bin") + size("streams/000.bin");
  EXPECT_TRUE(
      absl::StrContains(map, absl::StrCat("\nuse     flash ", flash, " bytes")))
      << map;
  EXPECT_TRUE(absl::StrContains(map, "; from FLOAT32: round_half_")) << map;
  EXPECT_TRUE(absl::StrContains(map, "; to FLOAT32: scale * (x - zero)"))
      << map;
  const auto manifest =
      nlohmann::json::parse(ReadWholeFile(integer + "/manifest.json"));
  const auto& input = manifest.at("inputs").at(0);
  EXPECT_EQ(input.at("type"), "INT8");
  EXPECT_EQ(input.at("source_type"), "FLOAT32");
  EXPECT_TRUE(input.at("scale").is_number());
  EXPECT_TRUE(input.at("zero_point").is_number_integer());
  EXPECT_EQ(input.at("rounding"), "HALF_AWAY");
  EXPECT_EQ(manifest.at("outputs").at(0).at("source_type"), "FLOAT32");

  const auto floats =
      nlohmann::json::parse(ReadWholeFile(compile("float") + "/manifest.json"));
  EXPECT_EQ(floats.at("inputs").at(0).at("type"), "FLOAT32");
  EXPECT_FALSE(floats.at("inputs").at(0).contains("source_type"));
}

// Placement is that of the form that is compiled.
TEST_F(IoTest, InspectionShowsWhatTheCallerConverts) {
  const std::string model = "models/resnet8_int8_qdq.onnx";
  EK_REQUIRE_SHARED(model);
  const v1::ModelDescription description = DescriptionOf(cluster().Cli(
      {"inspect", SharedPath(model), "--target", kTarget, "--json"}));
  std::map<std::string, int> by_caller;
  for (const auto& layer : description.layers()) {
    EXPECT_FALSE(layer.engine().empty()) << layer.id();
    EXPECT_FALSE(layer.reason().empty()) << layer.id();
    if (layer.engine() == "caller") ++by_caller[layer.op()];
  }
  EXPECT_EQ(by_caller, (std::map<std::string, int>{{"quantize", 1}}));
}

}  // namespace
}  // namespace edgekiln::tests
