// `edgekiln quantize`, and the file that all commands take which quantize.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/npz_writer.h"

namespace edgekiln::tests {
namespace {

using Json = nlohmann::json;

constexpr char kTarget[] = "dla-64-o-512k";

std::string Example(const std::string& file) {
  return SourcePath("docs/example/" + file);
}

// `edgekiln COMMAND digits.onnx` with calibration data and more.
std::vector<std::string> Command(const std::string& command,
                                 std::vector<std::string> more) {
  std::vector<std::string> all = {command, Example("digits.onnx"),
                                  "--calibration",
                                  Example("digits_calibration.npz")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class QuantizeTest : public ClusterTest {};

TEST_F(QuantizeTest, SaysWhatEachLayerCostAndMeasuresWhatTheChipComputes) {
  const v1::Report report = ReportOf(cluster().Cli(
      Command("quantize", {"--target", kTarget, "--data",
                           Example("digits_test.npz"), "--json", "--quiet"})));
  const v1::QuantizationReport& quantized = report.quantized();
  ASSERT_GT(quantized.layers_size(), 2);
  EXPECT_GT(quantized.samples(), 0);
  EXPECT_GT(quantized.output_sqnr_db(), 20);
  EXPECT_EQ(quantized.layers(0).op(), "input");
  EXPECT_GT(quantized.layers(0).scale(), 0);
  EXPECT_EQ(report.warnings_size(), 0);
  int with_weights = 0;
  for (const v1::QuantizedLayer& layer : quantized.layers()) {
    if (layer.weights() == v1::LayerScheme::WEIGHTS_UNSPECIFIED) continue;
    ++with_weights;
    EXPECT_TRUE(layer.has_weight_sqnr_db()) << layer.id();
    EXPECT_TRUE(layer.has_network_sqnr_db()) << layer.id();
    EXPECT_GT(layer.scale(), 0) << layer.id();
    EXPECT_LT(layer.range_low(), layer.range_high()) << layer.id();
  }
  EXPECT_GT(with_weights, 0);
  for (const v1::Report::Stage& stage : report.stages()) {
    for (const char* no : {"check_fit", "partition", "tile", "simulate"}) {
      EXPECT_FALSE(absl::StartsWith(stage.name(), no)) << stage.name();
    }
  }
  EXPECT_EQ(report.totals().cycles(), 0);

  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::FLOAT);
  const v1::Report chip = ReportOf(cluster().Cli(
      Command("validate", {"--target", kTarget, "--data",
                           Example("digits_test.npz"), "--json", "--quiet"})));
  EXPECT_GT(accuracy.samples(), 0);
  EXPECT_EQ(accuracy.samples(), chip.accuracy().samples());
  EXPECT_EQ(accuracy.value(), chip.accuracy().value());
  EXPECT_EQ(accuracy.reference_value(), chip.accuracy().reference_value());
}

TEST_F(QuantizeTest, TheScreenEndsWithWhatCostsMost) {
  const Outcome screen =
      cluster().Cli(Command("quantize", {"--target", kTarget, "--quiet"}));
  ASSERT_EQ(screen.exit_code, 0) << screen;
  for (const char* part : {"SCHEME", "WEIGHTS dB", "RESULT dB", "COSTS MOST",
                           "dB of signal to noise, on "}) {
    EXPECT_TRUE(absl::StrContains(screen.out, part)) << part << screen;
  }
  EXPECT_FALSE(absl::StrContains(screen.out, "\x1b")) << screen;
  // Where the network runs is not known here.
  EXPECT_FALSE(absl::StrContains(screen.out, "recipe")) << screen;
}

TEST_F(QuantizeTest, WithoutSamplesRangesAreAGuess) {
  const v1::Report report = ReportOf(
      cluster().Cli({"quantize", Example("digits.onnx"), "--json", "--quiet"}));
  EXPECT_EQ(report.calibration(), "SYNTHETIC");
  ASSERT_GE(report.warnings_size(), 1);
  EXPECT_TRUE(absl::StrContains(report.warnings(0), "without calibration"));
  ASSERT_GT(report.quantized().layers_size(), 0);
  EXPECT_EQ(report.quantized().samples(), 0);
  EXPECT_FALSE(report.quantized().has_output_sqnr_db());
}

TEST_F(QuantizeTest, FewSamplesDrawAWarning) {
  const std::string data = sandbox().Path("one.npz");
  sandbox().Write("one.npz",
                  NpzBytes({{"x", NpyArray{.dtype = "|u1",
                                           .shape = {1, 1, 28, 28},
                                           .data = std::string(784, 1)}}}));
  const v1::Report report =
      ReportOf(cluster().Cli({"quantize", Example("digits.onnx"),
                              "--calibration", data, "--json", "--quiet"}));
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_TRUE(absl::StrContains(report.warnings(0), "only 1 calibration"))
      << report.warnings(0);
}

TEST_F(QuantizeTest, WritesAnOnnxModelThatIsTheSameNetwork) {
  const std::string file = sandbox().Path("int8.onnx");
  const Outcome wrote = cluster().Cli(
      Command("quantize", {"--target", kTarget, "-o", file, "--quiet"}));
  ASSERT_EQ(wrote.exit_code, 0) << wrote;
  EXPECT_TRUE(absl::StrContains(wrote.out, "wrote " + file)) << wrote;
  const std::vector<std::string> on_data = {
      "--target", kTarget,  "--data", Example("digits_test.npz"),
      "--json",   "--quiet"};
  std::vector<std::string> exported = {"validate", file};
  exported.insert(exported.end(), on_data.begin(), on_data.end());
  const v1::Report a = ReportOf(cluster().Cli(exported));
  const v1::Report b = ReportOf(cluster().Cli(Command("validate", on_data)));
  EXPECT_EQ(a.calibration(), "");  // It came quantized.
  EXPECT_EQ(a.accuracy().value(), b.accuracy().value());
  // Quantizing it again leaves it alone.
  const v1::Report again =
      ReportOf(cluster().Cli({"quantize", file, "--json", "--quiet"}));
  ASSERT_EQ(again.quantized().notes_size(), 1);
  EXPECT_TRUE(
      absl::StrContains(again.quantized().notes(0), "stays exactly as it is"));
}

TEST_F(QuantizeTest, AFileDecidesForEveryCommand) {
  const Json layers = Json::parse(
      cluster().Cli({"inspect", Example("digits.onnx"), "--json"}).out);
  std::string id;
  for (const Json& layer : layers.at("layers")) {
    if (layer.at("op") == "conv2d") id = layer.at("id");
  }
  ASSERT_FALSE(id.empty());
  const std::string file = sandbox().Write(
      "q.txtpb", absl::StrCat("layers { layer: \"", id,
                              "\" scheme { keep_float: ON } }\n"));
  const v1::Report report = ReportOf(cluster().Cli(
      Command("quantize", {"--quantization", file, "--json", "--quiet"})));
  int kept = 0;
  for (const v1::QuantizedLayer& layer : report.quantized().layers()) {
    if (layer.id() != id) continue;
    ++kept;
    EXPECT_TRUE(layer.is_float());
    EXPECT_TRUE(absl::StrContains(layer.reason(), "asked for"));
  }
  EXPECT_EQ(kept, 1);
  for (const char* command : {"compile", "profile"}) {
    const v1::Report on_host = ReportOf(
        cluster().Cli(Command(command, {"--target", kTarget, "--quantization",
                                        file, "--json", "--quiet"})));
    bool found = false;
    for (const v1::Report::Layer& layer : on_host.layers()) {
      if (layer.id() == id) found = layer.engine() != "dla";
    }
    EXPECT_TRUE(found) << command;
  }
}

TEST_F(QuantizeTest, WhatTheFileMayNotSayIsNamed) {
  const std::string unknown =
      sandbox().Write("unknown.txtpb", "\nscheme { rouding: NEAREST }\n");
  for (const char* command :
       {"quantize", "compile", "profile", "validate", "run", "sweep"}) {
    std::vector<std::string> arguments =
        Command(command, {"--target", kTarget, "--quantization", unknown});
    if (absl::string_view(command) == "run" ||
        absl::string_view(command) == "validate") {
      arguments.insert(arguments.end(), {"--data", Example("digits_test.npz")});
    }
    if (absl::string_view(command) == "run") {
      arguments.insert(arguments.end(), {"-o", sandbox().Path("out.npz")});
    }
    const v1::ErrorDetail error = FailureOf(cluster(), arguments, 2);
    EXPECT_NAMES(error, "unknown.txtpb:2:");
    EXPECT_NAMES(error, "rouding");
    EXPECT_NAMES(error, "rounding\"");
  }
  const std::string layer = sandbox().Write(
      "layer.txtpb", "layers { layer: \"nowhere\" scheme { } }\n");
  const v1::ErrorDetail error =
      FailureOf(cluster(), Command("quantize", {"--quantization", layer}), 1);
  EXPECT_NAMES(error, "nowhere");
}

// How many layers with multiplications run on `engine`.
int LayersOn(const v1::Report& report, absl::string_view engine) {
  int count = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    count += layer.macs() > 0 && layer.engine() == engine ? 1 : 0;
  }
  return count;
}

// No engine takes them: the host does, and says why.
TEST_F(QuantizeTest, Int16ActivationsAreTheHosts) {
  const std::string file =
      sandbox().Write("wide.txtpb", "activations: ACTIVATIONS_INT16\n");
  const Outcome screen =
      cluster().Cli(Command("quantize", {"--quantization", file, "--quiet"}));
  EXPECT_TRUE(absl::StrContains(screen.out, "int8 channel, int16")) << screen;
  const v1::Report plain =
      ReportOf(cluster().Cli(Command("quantize", {"--json", "--quiet"})));
  const v1::Report wide = ReportOf(cluster().Cli(
      Command("quantize", {"--quantization", file, "--json", "--quiet"})));
  EXPECT_GT(wide.quantized().output_sqnr_db(),
            plain.quantized().output_sqnr_db() + 3);
  const v1::ErrorDetail refused = FailureOf(
      cluster(),
      Command("quantize",
              {"--quantization", file, "-o", sandbox().Path("wide.onnx")}),
      1);
  EXPECT_NAMES(refused, "op set 21");
  EXPECT_NAMES(refused, "ACTIVATIONS_INT16");
  const v1::Report chip = ReportOf(
      cluster().Cli(Command("profile", {"--target", kTarget, "--quantization",
                                        file, "--json", "--quiet"})));
  EXPECT_EQ(LayersOn(chip, "dla"), 0);
  EXPECT_GT(LayersOn(chip, "host"), 0);
  EXPECT_GT(chip.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(chip.bit_exact().mismatches(), 0);
  for (const v1::Report::Layer& layer : chip.layers()) {
    if (layer.macs() == 0) continue;
    EXPECT_TRUE(absl::StrContains(layer.reason(), "is int16"))
        << layer.reason();
  }
}

// Engines compute them as int8, with the values of the model quantized so.
TEST_F(QuantizeTest, Uint8ActivationsAreInt8OnTheChip) {
  const std::string file =
      sandbox().Write("unsigned.txtpb", "activations: ACTIVATIONS_UINT8\n");
  const auto validate = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "--target", kTarget,  "--data", Example("digits_test.npz"),
        "--json",   "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ReportOf(cluster().Cli(Command("validate", arguments)));
  };
  const v1::Report plain = validate({});
  const v1::Report moved = validate({"--quantization", file});
  EXPECT_EQ(moved.bit_exact().mismatches(), 0);
  EXPECT_EQ(moved.accuracy().value(), plain.accuracy().value());
  EXPECT_EQ(LayersOn(moved, "dla"), LayersOn(plain, "dla"));
  EXPECT_EQ(LayersOn(moved, "host"), 0);
  // Written as it is, and read again as every uint8 model.
  const std::string onnx = sandbox().Path("unsigned.onnx");
  const Outcome wrote = cluster().Cli(
      Command("quantize", {"--quantization", file, "-o", onnx, "--quiet"}));
  ASSERT_EQ(wrote.exit_code, 0) << wrote;
  EXPECT_TRUE(absl::StrContains(wrote.out, "int8 channel, uint8")) << wrote;
  const v1::Report read = ReportOf(
      cluster().Cli({"validate", onnx, "--target", kTarget, "--data",
                     Example("digits_test.npz"), "--json", "--quiet"}));
  EXPECT_EQ(read.accuracy().value(), plain.accuracy().value());
}

TEST_F(QuantizeTest, ComparesMethodsSideBySide) {
  const Outcome outcome = cluster().Cli(Command(
      "quantize", {"--target", kTarget, "--data", Example("digits_test.npz"),
                   "--compare", "--json", "--quiet"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  const Json rows = Json::parse(outcome.out);
  std::vector<std::string> methods;
  for (const Json& row : rows) {
    methods.push_back(row.at("method"));
    EXPECT_GT(row.at("report").at("quantized").at("output_sqnr_db"), 10)
        << methods.back();
    EXPECT_GT(row.at("report").at("accuracy").at("samples"), 0);
  }
  EXPECT_EQ(methods, (std::vector<std::string>{"minmax", "percentile", "mse",
                                               "output-mse (default)"}));
}

TEST_F(QuantizeTest, SweepsVaryTheFile) {
  const std::string file =
      sandbox().Write("coarse.txtpb", "scheme { per_tensor: ON }\n");
  const Outcome outcome = cluster().Cli(Command(
      "sweep",
      {"--target", kTarget, "--data", Example("digits_test.npz"), "--validate",
       "--vary", "quantization=default," + file, "--json", "--quiet"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  std::map<std::string, std::string> programs;  // By value.
  for (const absl::string_view line :
       absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
    const Json row = Json::parse(line);
    if (!row.contains("cell")) continue;
    EXPECT_EQ(row.at("state"), "done") << line;
    EXPECT_GT(row.at("report").at("accuracy").at("value"), 0.5) << line;
    programs[row.at("values").at("quantization")] =
        row.at("report").at("program").at("hash");
  }
  ASSERT_EQ(programs.size(), 2u) << outcome;
  EXPECT_NE(programs["default"], programs[file]);
}

}  // namespace
}  // namespace edgekiln::tests
