#include "compiler/frontend/import.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

TEST(SniffFormatTest, LooksAtTheFirstBytes) {
  const struct {
    std::string bytes;
    ModelFormat expected;
  } cases[] = {
      {std::string("\x1c\0\0\0TFL3", 8), ModelFormat::kTflite},
      {std::string("\x1c\0\0\0TFL", 7), ModelFormat::kUnknown},
      {std::string("\x08\x07\x12\x05", 4), ModelFormat::kOnnx},
      {std::string("\x3a\x05", 2), ModelFormat::kOnnx},
      {"", ModelFormat::kUnknown},
      {"PK\3\4", ModelFormat::kUnknown},
      {"\x89HDF", ModelFormat::kUnknown},
  };
  for (const auto& c : cases) EXPECT_EQ(SniffFormat(c.bytes), c.expected);
}

TEST(ImportModelTest, ForeignFilesAreRefused) {
  const absl::StatusOr<Graph> graph = ImportModel("PK\3\4 a zip");
  ASSERT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(graph.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "MODEL_FORMAT");
  EXPECT_FALSE(detail->fix.empty());
}

// Not passed over in silence: whoever gave them expects an effect.
TEST(ImportModelTest, TfliteModelsLeaveNothingToBind) {
  const struct {
    const char* option;
    ImportOptions options;
  } cases[] = {
      {"--bind", {.binds = {{"N", 1}}}},
      {"--bind-input", {.bound_inputs = {{"x", ""}}}},
      {"--external-data", {.external_files = {{"w.bin", ""}}}},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<Graph> graph =
        ImportModel(absl::string_view("\x1c\0\0\0TFL3", 8), c.options);
    const auto detail = GetErrorDetail(graph.status());
    ASSERT_TRUE(detail.has_value()) << graph.status();
    EXPECT_EQ(detail->reason, "BINDING_INVALID");
    EXPECT_EQ(detail->fix, std::string("leave ") + c.option + " out");
  }
}

// The type check knows neither the file nor what to do about it.
TEST(ImportModelTest, EveryErrorNamesAPlaceAndAFix) {
  constexpr char kFile[] = "models/resnet8_int8.tflite";
  EK_REQUIRE_SHARED(kFile);
  const std::string model = tests::ReadWholeFile(tests::SharedPath(kFile));
  int refused = 0;
  for (size_t at = model.size() / 2; at < model.size(); at += 97) {
    std::string damaged = model;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    const absl::StatusOr<Graph> graph = ImportModel(damaged);
    if (graph.ok()) continue;
    ++refused;
    const auto detail = GetErrorDetail(graph.status());
    ASSERT_TRUE(detail.has_value()) << graph.status();
    EXPECT_FALSE(detail->where.empty()) << at << ": " << graph.status();
    EXPECT_FALSE(detail->fix.empty()) << at << ": " << graph.status();
  }
  EXPECT_GT(refused, 0);
}

std::string ConvolutionWith(std::vector<float> weights) {
  return onnx_import::TestModel()
      .Input("x", {1, 2, 1, 1})
      .Floats("stem.weight", {2, 2, 1, 1}, std::move(weights))
      .Node("Conv", {"x", "stem.weight"}, {"y"})
      .Output("y")
      .bytes();
}

// y = x added to `mask`, cut to `limits`.
std::string MaskAndClip(float mask, float limit) {
  return onnx_import::TestModel()
      .Input("x", {1, 2})
      .Floats("mask", {2}, {0, mask})
      .Floats("limit", {}, {limit})
      .Node("Add", {"x", "mask"}, {"sum"})
      .Node("Clip", {"sum", "", "limit"}, {"y"})
      .Output("y")
      .bytes();
}

TEST(ImportModelTest, WeightsThatAreNotFiniteAreRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(ImportModel(ConvolutionWith({1, 2, 3, 4})).ok());
  const auto refused = ImportModel(ConvolutionWith({1, nan, -inf, 4}));
  const auto detail = GetErrorDetail(refused.status());
  ASSERT_TRUE(detail.has_value()) << refused.status();
  EXPECT_EQ(detail->reason, "MODEL_NOT_FINITE");
  EXPECT_NE(detail->what.find("2 of 4 values"), std::string::npos);
  EXPECT_NE(detail->where.find("'stem.weight'"), std::string::npos)
      << detail->where;
  EXPECT_FALSE(detail->fix.empty());
}

TEST(ImportModelTest, ConstantsThatFloat16CannotHoldAreNoMatterOfTraining) {
  const auto detail = GetErrorDetail(
      ImportModel(onnx_import::TestModel()
                      .TypedInput("x", onnx::TensorProto::FLOAT16, {1, 2})
                      // 1 and minus infinity.
                      .Bytes("mask", onnx::TensorProto::FLOAT16, {2},
                             {0x00, 0x3c, 0x00, 0xfc})
                      .Node("Mul", {"x", "mask"}, {"y"})
                      .Output("y")
                      .bytes())
          .status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "MODEL_NOT_FINITE");
  EXPECT_NE(detail->what.find("1 of 2 values"), std::string::npos);
  EXPECT_NE(detail->fix.find("65504"), std::string::npos) << detail->fix;
}

TEST(ImportModelTest, InfinityMasksAndLimitsButNanDoesNot) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto graph = ImportModel(MaskAndClip(-inf, inf));
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto detail =
      GetErrorDetail(ImportModel(MaskAndClip(nan, inf)).status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "MODEL_NOT_FINITE");
  EXPECT_NE(detail->where.find("'mask'"), std::string::npos);
}

// Files hold bytes, graphs hold UTF-8: whatever was in the file, each name that
// is made of it can be sent.
void ExpectNamesAreText(const Graph& graph) {
  const auto expect_text = [](const std::string& name) {
    EXPECT_EQ(name, SanitizeText(name, 1 << 20));
  };
  expect_text(graph.name);
  for (const Tensor& tensor : graph.tensors) expect_text(tensor.name);
  for (const Op& op : graph.ops) {
    expect_text(op.name);
    expect_text(op.id);
  }
}

TEST(ImportModelTest, OnnxNamesNeedNotBeText) {
  const std::string model = onnx_import::TestModel()
                                .Input("x\xE9", {1, 2})
                                .Floats("k\xFF", {2}, {1, 2})
                                .Node("Add", {"x\xE9", "k\xFF"}, {"a\n"})
                                .Name("node\x80")
                                .Node("Relu", {"a\n"}, {"y\xC3"})
                                .Output("y\xC3")
                                .bytes();
  const auto graph = ImportModel(model);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectNamesAreText(*graph);
  EXPECT_EQ(graph->tensors[graph->inputs[0]].name, "x\\xE9");
  EXPECT_EQ(graph->tensors[graph->outputs[0]].name, "y\\xC3");
  EXPECT_EQ(graph->ops[0].name, "node\\x80");
  // Options name inputs as the graph does.
  const std::string value = onnx_import::TestModel()
                                .Floats("", {1, 2}, {3, 4})
                                .proto()
                                .graph()
                                .initializer(0)
                                .SerializeAsString();
  const auto bound = ImportModel(model, {.bound_inputs = {{"x\\xE9", value}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->inputs.empty());
}

TEST(ImportModelTest, TfliteNamesNeedNotBeText) {
  TestModel model;
  const int32_t x = model.Tensor("x\xE9", {1, 2}, tflite::TensorType::FLOAT32);
  const int32_t y = model.Tensor("x\xE9", {1, 2}, tflite::TensorType::FLOAT32);
  const int32_t z =
      model.Tensor("z\xFF\n", {1, 2}, tflite::TensorType::FLOAT32);
  model.Operator(tflite::BuiltinOperator::NEG, {x}, {y});
  model.Operator(tflite::BuiltinOperator::ABS, {y}, {z});
  model.AddSubgraph({x}, {z});
  const auto graph = ImportModel(model.Finish());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectNamesAreText(*graph);
  EXPECT_EQ(graph->tensors[graph->inputs[0]].name, "x\\xE9");
  EXPECT_EQ(graph->tensors[graph->outputs[0]].name, "z\\xFF\\x0A");
}

TEST(ImportModelTest, BothFormatsArrive) {
  for (const char* file :
       {"models/resnet8_int8.tflite", "models/mnist_cnn_fp32.onnx"}) {
    EK_REQUIRE_SHARED(file);
    const auto graph =
        ImportModel(tests::ReadWholeFile(tests::SharedPath(file)));
    EXPECT_TRUE(graph.ok()) << file << ": " << graph.status();
  }
}

}  // namespace
}  // namespace edgekiln::compiler
