#include "compiler/frontend/import.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "compiler/ir/text.h"
#include "gmock/gmock.h"
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
  EXPECT_EQ(GetErrorDetail(ImportModel("").status())->what,
            "the file is empty");
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

// A convolution turns its weights: the graph's are a copy.
TEST(ImportModelTest, WhatIsNotFiniteHasTheNameThatItHasInTheFile) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"c1", "c1-2", "c-3-4"}) {
    const auto detail = GetErrorDetail(
        ImportModel(onnx_import::TestModel()
                        .Input("x", {1, 1, 2, 2})
                        .Floats(name, {1, 1, 2, 2}, {1, nan, 3, 4})
                        .Node("Conv", {"x", name}, {"y"})
                        .Output("y")
                        .bytes())
            .status());
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->where, absl::StrCat("initializer '", name, "'"));
  }
}

// What quantizers write for weights that are all zero.
TEST(ImportModelTest, ChannelsWithAScaleOfZeroAreZeros) {
  const auto onnx = ImportModel(
      onnx_import::TestModel()
          .Input("x", {1, 2})
          .Bytes("q", onnx::TensorProto::INT8, {3, 2}, {1, 2, 3, 4, 5, 6})
          .Floats("s", {3}, {0.5, 0, 2})
          .Bytes("z", onnx::TensorProto::INT8, {3}, {0, -7, 0})
          .Node("DequantizeLinear", {"q", "s", "z"}, {"w"})
          .Int("axis", 0)
          .Node("Gemm", {"x", "w"}, {"y"})
          .Int("transB", 1)
          .Output("y")
          .bytes());
  ASSERT_TRUE(onnx.ok()) << onnx.status();
  EXPECT_THAT(PrintGraph(*onnx),
              testing::HasSubstr("int8[3,2] axis 0 scale [0.5, 2, 2] zero [0, "
                                 "-7, 0] = constant [1, 2, -7, -7, 5, 6]"));
  const auto tflite = [](const std::vector<float>& of_input) {
    TestModel model;
    const auto type = tflite::TensorType::INT8;
    const int32_t x = model.Tensor("x", {1, 2}, type, of_input,
                                   std::vector<int64_t>(of_input.size(), 0));
    const int32_t w =
        model.Tensor("w", {2, 2}, type, {0, 0.5}, {0, 0}, {1, 2, 3, 4});
    const int32_t b = model.Tensor("b", {2}, tflite::TensorType::INT32,
                                   {0, 0.25}, {0, 0}, {9, 9, 9, 9, 3, 0, 0, 0});
    const int32_t y = model.Tensor("y", {1, 2}, type, {1}, {0});
    model.Operator(
        tflite::BuiltinOperator::FULLY_CONNECTED, {x, w, b}, {y},
        tflite::BuiltinOptions::FullyConnectedOptions,
        tflite::CreateFullyConnectedOptions(model.builder()).Union());
    model.AddSubgraph({x}, {y});
    return ImportModel(model.Finish());
  };
  const auto graph = tflite({0.5});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(PrintGraph(*graph),
              testing::AllOf(
                  testing::HasSubstr("int8[2,2] axis 0 scale [0.5, 0.5] zero "
                                     "[0, 0] = constant [0, 0, 3, 4]"),
                  testing::HasSubstr("int32[2] axis 0 scale [0.25, 0.25] zero "
                                     "[0, 0] = constant [0, 3]")));
  // An activation's integers are not known.
  EXPECT_FALSE(tflite({0}).ok());
  EXPECT_FALSE(tflite({0.5, 0}).ok());
}

TEST(ImportModelTest, VariancesBelowZeroAreRefusedByName) {
  const auto import = [](float variance) {
    return ImportModel(onnx_import::TestModel()
                           .Input("x", {1, 2, 1, 1})
                           .Floats("one", {2}, {1, 1})
                           .Floats("bn.var", {2}, {1, variance})
                           .Node("BatchNormalization",
                                 {"x", "one", "one", "one", "bn.var"}, {"y"})
                           .Name("bn")
                           .Float("epsilon", 0.5f)
                           .Output("y")
                           .bytes());
  };
  EXPECT_TRUE(import(-0.25f).ok());
  for (const float variance : {-0.5f, -2.0f}) {
    const auto detail = GetErrorDetail(import(variance).status());
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->reason, "MODEL_NOT_FINITE");
    EXPECT_EQ(detail->where, "layer bn, initializer 'bn.var'");
    EXPECT_EQ(detail->what,
              absl::StrCat("a BatchNormalization divides by the square root of "
                           "a variance of ",
                           variance, " and an epsilon of 0.5"));
  }
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
