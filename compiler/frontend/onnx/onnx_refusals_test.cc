// Operators and element types that no converter takes: every operator in one
// error, every error with what to use instead.

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/replacements.h"
#include "compiler/frontend/onnx/testing/op_case.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;
using Type = onnx::TensorProto;

ErrorDetail RefusalOf(const TestModel& model) {
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kUnimplemented)
      << graph.status();
  const auto detail = GetErrorDetail(graph.status());
  EXPECT_TRUE(detail.has_value()) << graph.status();
  EXPECT_FALSE(graph.ok());
  return detail.value_or(ErrorDetail{});
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A row of an operator that has a converter by now would never be read.
TEST(OnnxRefusalsTest, NoAdviceForWhatIsSupported) {
  for (const absl::string_view name :
       absl::StrSplit(onnx_import::OperatorNames(""), ' ')) {
    EXPECT_EQ(onnx_import::FindReplacement("", name), "") << name;
  }
}

// No optimization made it: without them it is still there.
TEST(OnnxRefusalsTest, PackedWeightsComeFromAQuantizer) {
  EXPECT_TRUE(Has(
      std::string(onnx_import::FindReplacement("com.microsoft", "MatMulNBits")),
      "quantizer"));
}

// Of a model with a tensor of that name.
ErrorDetail RefusalOfName(const std::string& name) {
  const absl::StatusOr<Graph> graph =
      ImportOnnx(Unary({4})
                     .Node("Relu", {"x"}, {name})
                     .Node("Relu", {name}, {"y"})
                     .bytes());
  EXPECT_FALSE(graph.ok());
  return GetErrorDetail(graph.status()).value_or(ErrorDetail());
}

TEST(OnnxRefusalsTest, LongNamesAreShownInPart) {
  const ErrorDetail detail = RefusalOfName(std::string(5000, 'x'));
  EXPECT_EQ(detail.what, "a name is longer than 4096 bytes");
  EXPECT_EQ(detail.where, "name '" + std::string(64, 'x') + "...'");
}

TEST(OnnxRefusalsTest, LongNamesAreNotCutWithinACharacter) {
  std::string name(63, 'x');
  while (name.size() < 5000) name += "\u00e9";
  EXPECT_EQ(RefusalOfName(name).where,
            "name '" + std::string(63, 'x') + "...'");
}

TEST(OnnxRefusalsTest, AllOperatorsAtOnceAndWhatToUseInstead) {
  TestModel model = Unary({4})
                        .Node("Frobnicate", {"x"}, {"a"})
                        .Name("first")
                        .Node("NonMaxSuppression", {"a", "x"}, {"b"})
                        .Node("Frobnicate", {"b"}, {"c"})
                        .Node("Relu", {"c"}, {"d"})
                        .Node("Sigmoidd", {"d"}, {"e"})
                        .Node("SkipLayerNormalization", {"e"}, {"f"})
                        .Domain("com.microsoft")
                        .Node("Mine", {"f"}, {"y"})
                        .Domain("my.ops")
                        .Node("NobodyReadsIt", {"x"}, {"unused"});
  const ErrorDetail error = RefusalOf(model);
  EXPECT_EQ(error.reason, "OP_UNSUPPORTED");
  EXPECT_EQ(error.what,
            "5 operators are not supported: Frobnicate (2 nodes), "
            "NonMaxSuppression, Sigmoidd, "
            "com.microsoft.SkipLayerNormalization, my.ops.Mine");
  EXPECT_EQ(error.where,
            "Frobnicate 'first' (op set 13, output 'a'), the first of 6 nodes");
  EXPECT_TRUE(Has(error.fix, "NonMaxSuppression: end the network before it"))
      << error.fix;
  EXPECT_TRUE(Has(error.fix, "did you mean \"Sigmoid\"?")) << error.fix;
  EXPECT_TRUE(Has(error.fix, "ORT_DISABLE_ALL")) << error.fix;
  EXPECT_TRUE(Has(error.fix, "standard ONNX operators only")) << error.fix;
  EXPECT_TRUE(Has(error.limit, "docs/onnx_coverage.md")) << error.limit;
  EXPECT_FALSE(error.need.empty());
}

TEST(OnnxRefusalsTest, TwentyAreNamedTheRestIsCounted) {
  TestModel model = Unary({4});
  std::string last = "x";
  for (int i = 0; i < 25; ++i) {
    const std::string next = i == 24 ? "y" : absl::StrCat("t", i);
    model.Node(absl::StrCat("Odd", i), {last}, {next});
    last = next;
  }
  const ErrorDetail error = RefusalOf(model);
  EXPECT_TRUE(Has(error.what, "25 operators are not supported")) << error.what;
  EXPECT_TRUE(Has(error.what, "Odd19, and 5 more")) << error.what;
}

TEST(OnnxRefusalsTest, OperatorsInsideFunctionsCount) {
  TestModel body =
      Unary({4}).Node("Frobnicate", {"x"}, {"t"}).Node("Mystery", {"t"}, {"y"});
  TestModel model = Unary({4})
                        .Node("Twice", {"x"}, {"a"})
                        .Domain("local")
                        .Node("Enigma", {"a"}, {"y"});
  model.Function("Twice", body);
  EXPECT_EQ(RefusalOf(model).what,
            "3 operators are not supported: Frobnicate, Mystery, Enigma");
}

// What a branch that is never taken holds does not matter; if the taken one
// cannot be converted, the rest is named with it.
TEST(OnnxRefusalsTest, BranchesCountWhenTheyAreTaken) {
  for (const int condition : {0, 1}) {
    TestModel good = TestModel().Node("Relu", {"x"}, {"r"}).Output("r");
    TestModel bad = TestModel().Node("Frobnicate", {"x"}, {"r"}).Output("r");
    TestModel model = Unary({4})
                          .Bytes("c", Type::BOOL, {}, {condition})
                          .Node("If", {"c"}, {"y"});
    model.Graph("then_branch", bad).Graph("else_branch", good);
    if (condition == 0) {
      EXPECT_TRUE(ImportOnnx(model.bytes()).ok());
      continue;
    }
    EXPECT_EQ(RefusalOf(model).what, "Frobnicate: operator is not supported");
  }
}

TEST(OnnxRefusalsTest, OperatorsOfAnOlderOpSet) {
  const ErrorDetail error = RefusalOf(
      Unary({4}, 5).Node("Relu", {"x"}, {"a"}).Node("Add", {"a", "x"}, {"y"}));
  EXPECT_EQ(error.reason, "OPSET_UNSUPPORTED");
  EXPECT_EQ(error.what,
            "2 operators are not supported: Relu of op set 5, Add of op set 5");
  EXPECT_TRUE(Has(error.fix, "convert_version")) << error.fix;
}

// ---- Element types ---------------------------------------------------------

struct TypeCase {
  const char* name;
  TestModel model;
  const char* what;
  const char* limit;  // Parts of these two.
  const char* fix;
};

void PrintTo(const TypeCase& row, std::ostream* out) { *out << row.name; }

class OnnxTypesTest : public testing::TestWithParam<TypeCase> {};

TEST_P(OnnxTypesTest, AreNamedWithWhatTakesThem) {
  const ErrorDetail error = RefusalOf(GetParam().model);
  EXPECT_EQ(error.what, GetParam().what);
  EXPECT_TRUE(Has(error.limit, GetParam().limit)) << error.limit;
  EXPECT_TRUE(Has(error.fix, GetParam().fix)) << error.fix;
  EXPECT_TRUE(Has(error.where, "output 'y'")) << error.where;
}

TestModel Typed(Type::DataType type, std::vector<int64_t> shape) {
  return TestModel().TypedInput("x", type, std::move(shape)).Output("y");
}

const TypeCase kTypeCases[] = {
    {"ConvOfIntegers",
     Typed(Type::INT8, {1, 1, 2, 2})
         .Bytes("w", Type::INT8, {1, 1, 1, 1}, {3})
         .Node("Conv", {"x", "w"}, {"y"}),
     "Conv: input 0 'x' is INT8", "FLOAT32", "ConvInteger or QLinearConv"},
    {"ConvOfUnsignedPixels",
     Typed(Type::UINT8, {1, 1, 2, 2})
         .Floats("w", {1, 1, 1, 1}, {3})
         .Node("Conv", {"x", "w"}, {"y"}),
     "Conv: input 0 'x' is UINT8", "FLOAT32", "a DequantizeLinear or a Cast"},
    {"ConvWithIntegerWeights",
     Unary({1, 1, 2, 2})
         .Bytes("w", Type::INT8, {1, 1, 1, 1}, {3})
         .Node("Conv", {"x", "w"}, {"y"}),
     "Conv: input 1 'w' is INT8", "FLOAT32", "a DequantizeLinear or a Cast"},
    {"MatMulOfBytes",
     Typed(Type::INT8, {1, 2})
         .Bytes("w", Type::INT8, {2, 1}, {3, 4})
         .Node("MatMul", {"x", "w"}, {"y"}),
     "MatMul: input 0 'x' is INT8", "INT32", "MatMulInteger or QLinearMatMul"},
    {"SigmoidOfIntegers", Typed(Type::INT8, {2}).Node("Sigmoid", {"x"}, {"y"}),
     "Sigmoid: input 0 'x' is INT8", "FLOAT32", "QLinearSigmoid"},
    {"DequantizeOfFloats",
     Unary({2})
         .Floats("s", {}, {1})
         .Node("DequantizeLinear", {"x", "s"}, {"y"}),
     "DequantizeLinear: input 0 'x' is FLOAT32", "INT8",
     "leave the DequantizeLinear out"},
    {"QLinearConvOfFloats",
     Unary({1, 1, 2, 2})
         .Floats("s", {}, {1})
         .Bytes("z", Type::INT8, {}, {0})
         .Bytes("w", Type::INT8, {1, 1, 1, 1}, {3})
         .Node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z"}, {"y"}),
     "QLinearConv: input 0 'x' is FLOAT32", "INT8, UINT8", "QuantizeLinear"},
    {"AddOfFloatsAndIntegers",
     Unary({2}).Integers("k", {1, 2}).Node("Add", {"x", "k"}, {"y"}),
     "Add: input 1 'k' is INT64, input 0 'x' is FLOAT32", "one element type",
     "put a Cast to FLOAT32 before input 1"},
    {"ConcatOfFloatsAndIntegers",
     Unary({2})
         .Integers("k", {1, 2})
         .Node("Concat", {"x", "k"}, {"y"})
         .Int("axis", 0),
     "Concat: input 1 'k' is INT64, input 0 'x' is FLOAT32", "one element type",
     "put a Cast to FLOAT32 before input 1"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxTypesTest, testing::ValuesIn(kTypeCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
