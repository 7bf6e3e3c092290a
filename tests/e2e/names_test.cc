// Names that are not UTF-8, wherever a user can have one: models, files, target
// descriptions.

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";

class NamesTest : public ClusterTest {};

std::string LatinTflite() {
  compiler::TestModel model;
  const auto type = tflite::TensorType::INT8;
  const int32_t x = model.Tensor(
      "entr\xE9"
      "e",
      {1, 2, 2, 1}, type, {0.5f}, {0});
  const int32_t w =
      model.Tensor("poids\xFF", {1, 1, 1, 1}, type, {0.5f}, {0}, {3});
  const int32_t y = model.Tensor(
      "sort\xEC"
      "e",
      {1, 2, 2, 1}, type, {0.5f}, {0});
  model.Operator(
      tflite::BuiltinOperator::CONV_2D, {x, w}, {y},
      tflite::BuiltinOptions::Conv2DOptions,
      tflite::CreateConv2DOptions(model.builder(), tflite::Padding::SAME, 1, 1)
          .Union());
  model.AddSubgraph({x}, {y});
  return model.Finish();
}

std::string LatinOnnx() {
  return compiler::onnx_import::TestModel()
      .Input(
          "entr\xE9"
          "e",
          {1, 1, 2, 2})
      .Floats("poids\xFF", {1, 1, 1, 1}, {3})
      .Node("Conv",
            {"entr\xE9"
             "e",
             "poids\xFF"},
            {"sort\xEC"
             "e"})
      .Name("couche \xE0")
      .Output(
          "sort\xEC"
          "e")
      .bytes();
}

TEST_F(NamesTest, OfModelsAreShownAsText) {
  for (const std::string& model : {LatinTflite(), LatinOnnx()}) {
    // The name of the file is not UTF-8 either.
    const std::string path = sandbox().Write("mod\xE8le.bin", model);
    const v1::ModelDescription description =
        DescriptionOf(cluster().Cli({"inspect", path, "--json"}));
    ASSERT_EQ(description.inputs_size(), 1);
    EXPECT_EQ(description.inputs(0).name(),
              "entr\\xE9"
              "e");
    EXPECT_EQ(description.outputs(0).name(), "sort\\xECe");
    EXPECT_EQ(description.name(), "mod?le.bin");
    const v1::Report report = ReportOf(cluster().Cli(
        {"profile", path, "--target", kTarget, "--json", "--quiet"}));
    EXPECT_EQ(report.bit_exact().mismatches(), 0);
    EXPECT_GT(report.bit_exact().outputs_compared(), 0);
    EXPECT_EQ(report.model_name(), "mod?le.bin");
    const std::string folder = sandbox().Path("compiled");
    EXPECT_EQ(cluster()
                  .Cli({"compile", path, "--target", kTarget, "-o", folder})
                  .exit_code,
              0);
    std::filesystem::remove_all(folder);
  }
}

// Names in other scripts are cut between characters.
TEST_F(NamesTest, LongNamesInOtherScripts) {
  for (int shift = 0; shift < 3; ++shift) {
    std::string name(static_cast<size_t>(shift), 'x');
    for (int i = 0; i < 100; ++i) name += "\xE5\xB1\x82";
    const std::string model =
        compiler::onnx_import::TestModel(14)
            .TypedInput(name, onnx::TensorProto::INT8, {1, 3, 4, 4})
            .Node("Add", {name, name}, {name + "1"})
            .Output(name + "1")
            .bytes();
    const std::string path = sandbox().Write("long.onnx", model);
    const v1::Report report = ReportOf(cluster().Cli(
        {"profile", path, "--target", kTarget, "--json", "--quiet"}));
    EXPECT_EQ(report.bit_exact().mismatches(), 0);
    std::string reasons;
    for (const auto& layer : report.layers()) reasons += layer.reason();
    EXPECT_NE(reasons.find("\xE5\xB1\x82... is"), std::string::npos) << reasons;
  }
}

TEST_F(NamesTest, OfTargetFilesAreRefused) {
  const std::string model = sandbox().Write("net.onnx", LatinOnnx());
  for (const std::string name : {"chip\xE9", "chip\\351"}) {
    const std::string chip = sandbox().Write(
        "ch\xEEp.txtpb", "extends: \"dla\"\nname: \"" + name + "\"\n");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"targets", "check", chip},
          {"profile", model, "--target", chip}}) {
      const v1::ErrorDetail error = FailureOf(cluster(), command, 1);
      EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
      EXPECT_NAMES(error, "not UTF-8");
    }
  }
}

TEST_F(NamesTest, OfOptionsAreUsageErrors) {
  const std::string model = sandbox().Write("net.onnx", LatinOnnx());
  EXPECT_NAMES(FailureOf(cluster(), {"inspect", model, "--bind", "N\xE9=1"}, 2),
               "not UTF-8");
  EXPECT_NAMES(
      FailureOf(cluster(), {"profile", model, "--target", "ch\xEEp"}, 2),
      "not UTF-8");
}

}  // namespace
}  // namespace edgekiln::tests
