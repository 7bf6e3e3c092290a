#include "compiler/frontend/onnx/onnx_import.h"

#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/onnx/test_model.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

// ---- What operators compute ------------------------------------------------

struct OpCase {
  const char* name;
  TestModel model;  // Input "x", perhaps "z"; output "y".
  std::vector<float> x;
  std::vector<float> z;
  std::vector<float> y;
  std::vector<int64_t> shape;  // Of y.
};

void PrintTo(const OpCase& row, std::ostream* out) { *out << row.name; }

TestModel Unary(std::vector<int64_t> shape, int opset = 13) {
  TestModel model(opset);
  model.Input("x", std::move(shape)).Output("y");
  return model;
}

TestModel Binary(std::vector<int64_t> x, std::vector<int64_t> z,
                 int opset = 13) {
  TestModel model(opset);
  model.Input("x", std::move(x)).Input("z", std::move(z)).Output("y");
  return model;
}

absl::string_view Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void ExpectComputes(const Graph& graph, const OpCase& row) {
  std::vector<absl::string_view> inputs = {Bytes(row.x)};
  if (!row.z.empty()) inputs.push_back(Bytes(row.z));
  const auto outputs = Evaluate(graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].name, "y");
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, row.shape);
  const std::vector<float> y = Floats((*outputs)[0]);
  ASSERT_EQ(y.size(), row.y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], row.y[i], 1e-5) << "element " << i;
  }
}

class OnnxOpTest : public testing::TestWithParam<OpCase> {};

TEST_P(OnnxOpTest, Computes) {
  absl::StatusOr<Graph> graph = ImportOnnx(TestModel(GetParam().model).bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectComputes(*graph, GetParam());
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  ExpectComputes(*graph, GetParam());
}

// Hand-computed; 1 2 / 3 4 is the usual picture.
const std::vector<float> kPicture = {1, 2, 3, 4};

const OpCase kWindowCases[] = {
    {"ConvSameUpper",
     Unary({1, 1, 2, 2})
         .Floats("w", {1, 1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .String("auto_pad", "SAME_UPPER"),
     kPicture,
     {},
     {4321, 402, 43, 4},
     {1, 1, 2, 2}},
    {"ConvSameLower",
     Unary({1, 1, 2, 2})
         .Floats("w", {1, 1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .String("auto_pad", "SAME_LOWER"),
     kPicture,
     {},
     {1000, 2100, 3010, 4321},
     {1, 1, 2, 2}},
    {"ConvBiasStrideAsymmetricPads",
     Unary({1, 1, 2, 2})
         .Floats("w", {2, 1, 1, 2}, {1, 10, -1, 1})
         .Floats("b", {2}, {0.5, 0})
         .Node("Conv", {"x", "w", "b"}, {"y"})
         .Ints("pads", {1, 1, 0, 0})
         .Ints("strides", {2, 1}),
     kPicture,
     {},
     {0.5, 0.5, 30.5, 43.5, 0, 0, 3, 1},
     {1, 2, 2, 2}},
    {"ConvDilation",
     Unary({1, 1, 1, 4})
         .Floats("w", {1, 1, 1, 2}, {1, 10})
         .Node("Conv", {"x", "w"}, {"y"})
         .Ints("dilations", {1, 3}),
     kPicture,
     {},
     {41},
     {1, 1, 1, 1}},
    {"ConvOneDimension",
     Unary({1, 2, 2})
         .Floats("w", {1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"}),
     kPicture,
     {},
     {4321},
     {1, 1, 1}},
    {"ConvDepthwiseWithMultiplier",
     Unary({1, 2, 1, 2})
         .Floats("w", {4, 1, 1, 1}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .Int("group", 2),
     kPicture,
     {},
     {1, 2, 10, 20, 300, 400, 3000, 4000},
     {1, 4, 1, 2}},
    {"ConvTwoGroups",
     Unary({1, 4, 1, 1})
         .Floats("w", {2, 2, 1, 1}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .Int("group", 2),
     kPicture,
     {},
     {21, 4300},
     {1, 2, 1, 1}},
    {"MaxPoolCeilMode",
     Unary({1, 1, 1, 3})
         .Node("MaxPool", {"x"}, {"y"})
         .Ints("kernel_shape", {1, 2})
         .Ints("strides", {1, 2})
         .Int("ceil_mode", 1),
     {1, 5, 3},
     {},
     {5, 3},
     {1, 1, 1, 2}},
    {"AveragePoolLeavesPaddingOut",
     Unary({1, 1, 2, 2})
         .Node("AveragePool", {"x"}, {"y"})
         .Ints("kernel_shape", {2, 2})
         .Ints("pads", {1, 1, 0, 0}),
     kPicture,
     {},
     {1, 1.5, 2, 2.5},
     {1, 1, 2, 2}},
    {"AveragePoolCountsPadding",
     Unary({1, 1, 2, 2})
         .Node("AveragePool", {"x"}, {"y"})
         .Ints("kernel_shape", {2, 2})
         .Ints("pads", {1, 1, 0, 0})
         .Int("count_include_pad", 1),
     kPicture,
     {},
     {0.25, 0.75, 1, 2.5},
     {1, 1, 2, 2}},
    {"GlobalPools",
     Unary({1, 2, 1, 2})
         .Node("GlobalAveragePool", {"x"}, {"a"})
         .Node("GlobalMaxPool", {"x"}, {"m"})
         .Node("Add", {"a", "m"}, {"y"}),
     kPicture,
     {},
     {3.5, 7.5},
     {1, 2, 1, 1}},
};

const OpCase kArithmeticCases[] = {
    {"AddBroadcasts",
     Binary({2, 2}, {2}).Node("Add", {"x", "z"}, {"y"}),
     kPicture,
     {10, 20},
     {11, 22, 13, 24},
     {2, 2}},
    {"SubOfActivations",
     Binary({4}, {1}).Node("Sub", {"x", "z"}, {"y"}),
     kPicture,
     {1},
     {0, 1, 2, 3},
     {4}},
    {"DivByConstant",
     Unary({4}).Floats("d", {}, {4}).Node("Div", {"x", "d"}, {"y"}),
     kPicture,
     {},
     {0.25, 0.5, 0.75, 1},
     {4}},
    {"SumOfThree",
     Binary({2}, {2}).Node("Sum", {"x", "z", "x"}, {"y"}),
     {1, 2},
     {10, 20},
     {12, 24},
     {2}},
    {"SumOfOne", Unary({2}).Node("Sum", {"x"}, {"y"}), {1, 2}, {}, {1, 2}, {2}},
    {"Neg", Unary({2}).Node("Neg", {"x"}, {"y"}), {1, -2}, {}, {-1, 2}, {2}},
    {"ClipByAttributes",
     Unary({4}, 9).Node("Clip", {"x"}, {"y"}).Float("min", 2).Float("max", 3),
     kPicture,
     {},
     {2, 2, 3, 3},
     {4}},
    {"ClipByInputs",
     Unary({4}).Floats("max", {}, {3}).Node("Clip", {"x", "", "max"}, {"y"}),
     kPicture,
     {},
     {1, 2, 3, 3},
     {4}},
    {"BatchNormalization",
     Unary({1, 2, 2})
         .Floats("s", {2}, {2, 3})
         .Floats("b", {2}, {0, 1})
         .Floats("m", {2}, {1, 2})
         .Floats("v", {2}, {4, 1})
         .Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
         .Float("epsilon", 0),
     kPicture,
     {},
     {0, 1, 4, 7},
     {1, 2, 2}},
    {"SoftmaxOfLastDimension",
     Unary({2, 2}).Node("Softmax", {"x"}, {"y"}),
     {0, 0, 5, 5},
     {},
     {0.5, 0.5, 0.5, 0.5},
     {2, 2}},
    {"SoftmaxBeforeOpset13FlattensTheRest",
     Unary({1, 2, 2}, 11).Node("Softmax", {"x"}, {"y"}),
     {0, 0, 0, 0},
     {},
     {0.25, 0.25, 0.25, 0.25},
     {1, 2, 2}},
    {"ReduceMeanByAttribute",
     Unary({1, 2, 2})
         .Node("ReduceMean", {"x"}, {"y"})
         .Ints("axes", {-1})
         .Int("keepdims", 0),
     kPicture,
     {},
     {1.5, 3.5},
     {1, 2}},
    {"ReduceMeanByInput",
     Unary({1, 2, 2}, 18)
         .Integers("axes", {1})
         .Node("ReduceMean", {"x", "axes"}, {"y"}),
     kPicture,
     {},
     {2, 3},
     {1, 1, 2}},
    {"GemmScalesBoth",
     Unary({1, 2})
         .Floats("b", {2, 2}, {1, 2, 3, 4})
         .Floats("c", {1}, {10})
         .Node("Gemm", {"x", "b", "c"}, {"y"})
         .Float("alpha", 2)
         .Float("beta", 0.5),
     {1, 10},
     {},
     {67, 89},
     {1, 2}},
    {"GemmTransposesBoth",
     Unary({2, 1})
         .Floats("b", {2, 2}, {1, 2, 3, 4})
         .Node("Gemm", {"x", "b"}, {"y"})
         .Int("transA", 1)
         .Int("transB", 1),
     {1, 10},
     {},
     {21, 43},
     {1, 2}},
    {"GemmOfActivations",
     Binary({1, 2}, {2, 1})
         .Floats("c", {1, 1}, {5})
         .Node("Gemm", {"x", "z", "c"}, {"y"}),
     {1, 10},
     {3, 4},
     {48},
     {1, 1}},
    {"MatMulOfVectors",
     Binary({2}, {2}).Node("MatMul", {"x", "z"}, {"y"}),
     {1, 10},
     {3, 4},
     {43},
     {}},
};

const OpCase kShapeCases[] = {
    {"ReshapeZeroAndMinusOne",
     Unary({2, 1, 2}).Integers("s", {0, -1}).Node("Reshape", {"x", "s"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {2, 2}},
    {"FlattenSqueezeUnsqueeze",
     Unary({1, 2, 2}, 11)
         .Node("Flatten", {"x"}, {"f"})
         .Node("Squeeze", {"f"}, {"s"})
         .Node("Unsqueeze", {"s"}, {"y"})
         .Ints("axes", {0, 2}),
     kPicture,
     {},
     kPicture,
     {1, 4, 1}},
    {"TransposeReversesByDefault",
     Unary({1, 2, 2}).Node("Transpose", {"x"}, {"y"}),
     kPicture,
     {},
     {1, 3, 2, 4},
     {2, 2, 1}},
    {"IdentityAndDropoutPassOn",
     Unary({2}).Node("Identity", {"x"}, {"i"}).Node("Dropout", {"i"}, {"y"}),
     {1, 2},
     {},
     {1, 2},
     {2}},
    {"ConcatOfActivations",
     Binary({1, 2}, {1, 1}).Node("Concat", {"x", "z"}, {"y"}).Int("axis", -1),
     {1, 2},
     {3},
     {1, 2, 3},
     {1, 3}},
    {"PadWithValue",
     Unary({1, 2})
         .Integers("p", {0, 1, 1, 0})
         .Floats("v", {}, {9})
         .Node("Pad", {"x", "p", "v"}, {"y"}),
     {1, 2},
     {},
     {9, 1, 2, 9, 9, 9},
     {2, 3}},
    {"PadOfChosenAxes",
     Unary({1, 2}, 18)
         .Integers("p", {0, 1})
         .Integers("a", {-1})
         .Node("Pad", {"x", "p", "", "a"}, {"y"}),
     {1, 2},
     {},
     {1, 2, 0},
     {1, 3}},
    // x.view(x.size(0), -1), as PyTorch writes it.
    {"ShapeArithmetic",
     Unary({1, 2, 2}, 11)
         .Integers("zero", {0})
         .Integers("rest", {-1})
         .Node("Shape", {"x"}, {"s"})
         .Node("Gather", {"s", "zero"}, {"n"})
         .Node("Concat", {"n", "rest"}, {"to"})
         .Int("axis", 0)
         .Node("Reshape", {"x", "to"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {1, 4}},
    {"SliceAndMulOfShapes",
     Unary({1, 2, 2})
         .Integers("one", {1})
         .Integers("end", {9})
         .Node("Shape", {"x"}, {"s"})
         .Node("Slice", {"s", "one", "end"}, {"hw"})
         .Node("Mul", {"hw", "one"}, {"to"})
         .Node("Reshape", {"x", "to"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {2, 2}},
    // torch.arange(7, x.numel(), -2) on a tensor of one element.
    {"RangeOfConstants",
     Unary({1})
         .Floats("from", {}, {7})
         .Floats("step", {}, {-2})
         .Node("Size", {"x"}, {"size"})
         .Node("Cast", {"size"}, {"to"})
         .Int("to", onnx::TensorProto::FLOAT)
         .Node("Range", {"from", "to", "step"}, {"r"})
         .Node("Mul", {"x", "r"}, {"y"}),
     {1},
     {},
     {7, 5, 3},
     {3}},
    {"ConstantNode",
     Unary({2})
         .Node("Constant", {}, {"c"})
         .Float("value_float", 3)
         .Node("Mul", {"x", "c"}, {"y"}),
     {1, 2},
     {},
     {3, 6},
     {2}},
    {"SymbolicBatchIsOne",
     Unary({-1, 2}).Node("Relu", {"x"}, {"y"}),
     {-1, 2},
     {},
     {0, 2},
     {1, 2}},
    {"OldOpsetWhereTheOperatorIsTheSame",
     Unary({2}, 1).Node("Softsign", {"x"}, {"y"}),
     {-1, 3},
     {},
     {-0.5, 0.75},
     {2}},
    {"UnneededNodesAreNotLookedAt",
     Unary({1, 2}).Node("Relu", {"x"}, {"y"}).Node("NoSuchOp", {"x"}, {"n"}),
     {-1, 2},
     {},
     {0, 2},
     {1, 2}},
    {"ConstantOutput",
     Unary({1}).Floats("k", {1}, {7}).Node("Identity", {"k"}, {"y"}),
     {1},
     {},
     {7},
     {1}},
};

std::string CaseName(const testing::TestParamInfo<OpCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Window, OnnxOpTest, testing::ValuesIn(kWindowCases),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Arithmetic, OnnxOpTest,
                         testing::ValuesIn(kArithmeticCases), CaseName);
INSTANTIATE_TEST_SUITE_P(Shape, OnnxOpTest, testing::ValuesIn(kShapeCases),
                         CaseName);

// ---- Ids and names ---------------------------------------------------------

TEST(OnnxImportTest, LayerIdsComeFromNodeNames) {
  TestModel model = Unary({1, 1, 2, 2})
                        .Floats("w", {1, 1, 1, 1}, {1})
                        .Node("Conv", {"x", "w"}, {"c"})
                        .Name("Stem/Conv 1")
                        .Node("Relu", {"c"}, {"y"});
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> ids;
  for (const Op& op : graph->ops) ids.push_back(op.id);
  // One channel: both transposes move only extents of 1, but are there.
  EXPECT_EQ(ids, (std::vector<std::string>{"stem.conv.1.to-nhwc", "stem.conv.1",
                                           "stem.conv.1.to-nchw", "relu_y"}));
  EXPECT_EQ(graph->ops[1].name, "Stem/Conv 1");
}

TEST(OnnxImportTest, InitializersThatAreInputsAreConstants) {
  TestModel model = Unary({2})
                        .Input("k", {2})
                        .Floats("k", {2}, {1, 2})
                        .Node("Add", {"x", "k"}, {"y"});
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->inputs.size(), 1u);
}

// ---- What is refused -------------------------------------------------------

struct ErrorCase {
  const char* name;
  TestModel model;
  absl::StatusCode code;
  std::vector<const char*> says;
};

void PrintTo(const ErrorCase& row, std::ostream* out) { *out << row.name; }

class OnnxErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(OnnxErrorTest, SaysWhatWhereAndFix) {
  const absl::StatusOr<Graph> graph =
      ImportOnnx(TestModel(GetParam().model).bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), GetParam().code) << graph.status();
  for (const char* text : GetParam().says) {
    EXPECT_NE(graph.status().message().find(text), absl::string_view::npos)
        << graph.status() << " lacks " << text;
  }
  const auto detail = GetErrorDetail(graph.status());
  ASSERT_TRUE(detail.has_value()) << graph.status();
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_FALSE(detail->where.empty());
  EXPECT_FALSE(detail->fix.empty());
}

constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

const ErrorCase kErrors[] = {
    {"OutputTooLarge",
     Unary({1, 1, 2, 2})
         .Integers("p", {0, 0, 1 << 20, 1 << 20, 0, 0, 0, 0})
         .Node("Pad", {"x", "p"}, {"y"}),
     kInvalid,
     {"Pad: output of shape",
      "need: at most 2147483648 elements; fix: export with a smaller input"}},
    {"UnknownOp",
     Unary({2}).Node("Mystery", {"x"}, {"y"}).Name("layer 7"),
     kUnsupported,
     {"Mystery", "'layer 7'", "op set 13", "'y'", "supported:"}},
    {"UnknownDomain",
     Unary({2}).Node("Relu", {"x"}, {"y"}).Domain("my.ops"),
     kUnsupported,
     {"Relu", "'my.ops'"}},
    {"OperatorOfAnOlderOpset",
     Unary({2}, 5).Node("Relu", {"x"}, {"y"}),
     kUnsupported,
     {"op set 5", "6 to 21"}},
    {"NewOpset",
     Unary({2}, 99).Node("Relu", {"x"}, {"y"}),
     kUnsupported,
     {"op set 99", "6 to 21"}},
    {"SymbolicExtent",
     Unary({1, -1}).Node("Relu", {"x"}, {"y"}),
     kUnsupported,
     {"dimension 1", "'N'", "'x'"}},
    {"UnknownAttribute",
     Unary({2}).Node("Relu", {"x"}, {"y"}).Int("slope", 1),
     kUnsupported,
     {"'slope'"}},
    {"MissingInput",
     Unary({2}).Node("Add", {"x", "ghost"}, {"y"}),
     kInvalid,
     {"'ghost'"}},
    {"MissingOutput", Unary({2}).Node("Relu", {"x"}, {"z"}), kInvalid, {"'y'"}},
    {"TwoProducers",
     Unary({2}).Node("Relu", {"x"}, {"y"}).Node("Neg", {"x"}, {"y"}),
     kInvalid,
     {"'y'"}},
    {"Cycle",
     Unary({2})
         .Node("Add", {"x", "b"}, {"a"})
         .Node("Relu", {"a"}, {"b"})
         .Node("Relu", {"b"}, {"y"}),
     kInvalid,
     {"'b'"}},
    {"TooFewValues",
     Unary({2}).Floats("k", {2}, {1}).Node("Add", {"x", "k"}, {"y"}),
     kInvalid,
     {"'k'", "4 bytes", "needs 8"}},
    {"OverflowingShape",
     Unary({2})
         .Floats("k", {1 << 30, 1 << 30, 1 << 30}, {1})
         .Node("Add", {"x", "k"}, {"y"}),
     kInvalid,
     {"'k'", "impossible shape"}},
    {"RunTimeShape",
     Binary({2}, {1}).Node("Reshape", {"x", "z"}, {"y"}),
     kUnsupported,
     {"Reshape", "run time"}},
    {"WrongWeights",
     Unary({1, 2, 4, 4})
         .Floats("w", {1, 3, 1, 1}, {1, 2, 3})
         .Node("Conv", {"x", "w"}, {"y"}),
     kInvalid,
     {"[1,3,1,1]", "2 input channels"}},
    {"WindowLargerThanPicture",
     Unary({1, 1, 2, 2})
         .Node("MaxPool", {"x"}, {"y"})
         .Ints("kernel_shape", {5, 5}),
     kInvalid,
     {"MaxPool", "[5,5]"}},
    {"FourDimensionalConvolution",
     Unary({1, 1, 2, 2, 2, 2})
         .Floats("w", {1, 1, 1, 1, 1, 1}, {1})
         .Node("Conv", {"x", "w"}, {"y"}),
     kUnsupported,
     {"6 dimensions"}},
    {"ImpossibleConstant",
     Unary({1})
         .Integers("s", {1 << 26, 1 << 26})
         .Node("ConstantOfShape", {"s"}, {"k"})
         .Node("Add", {"x", "k"}, {"y"}),
     kInvalid,
     {"impossible shape [67108864,67108864]", "limit: 8 dimensions",
      "2147483648 bytes", "fix: export with a smaller input"}},
    {"EndlessRange",
     Unary({1})
         .Floats("from", {}, {0})
         .Floats("to", {}, {1})
         .Floats("step", {}, {0})
         .Node("Range", {"from", "to", "step"}, {"r"})
         .Node("Add", {"x", "r"}, {"y"}),
     kUnsupported,
     {"Range: from 0 to 1 in steps of 0", "65536 values"}},
    {"IndexOutOfRange",
     Unary({2}).Integers("i", {2}).Node("Gather", {"x", "i"}, {"y"}),
     kInvalid,
     {"Gather: index 2 of 2"}},
    {"TrainingMode",
     Unary({1, 1, 1, 1}, 14)
         .Floats("k", {1}, {1})
         .Node("BatchNormalization", {"x", "k", "k", "k", "k"}, {"y"})
         .Int("training_mode", 1),
     kUnsupported,
     {"training"}},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxErrorTest, testing::ValuesIn(kErrors),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(OnnxImportTest, GrowthByManySmallNodesIsBounded) {
  TestModel model = Unary({1}).Integers("s", {1 << 18});
  for (int i = 0; i < 100; ++i) {
    const std::string k = "k" + std::to_string(i);
    model.Node("ConstantOfShape", {"s"}, {k});
    model.Node("Add", {i == 0 ? "x" : "y" + std::to_string(i - 1), k},
               {i == 99 ? "y" : "y" + std::to_string(i)});
  }
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  int64_t bytes = 0;
  for (const Tensor& tensor : graph->tensors) {
    if (tensor.is_constant())
      bytes += static_cast<int64_t>(tensor.data->size());
  }
  EXPECT_LT(bytes, int64_t{5} << 20);
}

TEST(OnnxImportTest, NoPrefixAndNoFlippedByteCrashes) {
  TestModel model = Unary({1, 2, 4, 4})
                        .Floats("w", {2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
                        .Integers("s", {1, -1})
                        .Node("Conv", {"x", "w"}, {"c"})
                        .Int("group", 2)
                        .Ints("pads", {1, 0, 1, 0})
                        .Node("Relu", {"c"}, {"r"})
                        .Node("Reshape", {"r", "s"}, {"y"});
  const std::string bytes = model.bytes();
  ASSERT_TRUE(ImportOnnx(bytes).ok());
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (!ImportOnnx(bytes.substr(0, size)).ok()) ++refused;
  }
  // Some prefixes end between two fields and are models of their own.
  EXPECT_GT(refused, static_cast<int>(bytes.size()) / 2);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      absl::StatusOr<Graph> graph = ImportOnnx(damaged);
      if (!graph.ok()) continue;
      EXPECT_TRUE(Simplify(*graph).ok()) << at << " bit " << bit;
    }
  }
}

struct RejectCase {
  const char* file;
  std::vector<const char*> says;
};

TEST(OnnxImportTest, PublishedModelsThatMustBeRefused) {
  const RejectCase kRejects[] = {
      {"models/reject/unknown_domain.onnx",
       {"MultiThreshold", "finn.custom_op.general"}},
      {"models/reject/opset1_mnist.onnx", {"op set 1"}},
  };
  for (const RejectCase& reject : kRejects) {
    EK_REQUIRE_SHARED(reject.file);
    const absl::StatusOr<Graph> graph =
        ImportOnnx(tests::ReadWholeFile(tests::SharedPath(reject.file)));
    ASSERT_FALSE(graph.ok()) << reject.file;
    for (const char* text : reject.says) {
      EXPECT_NE(graph.status().message().find(text), absl::string_view::npos)
          << graph.status();
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
