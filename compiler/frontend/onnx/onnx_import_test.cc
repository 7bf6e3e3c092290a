#include "compiler/frontend/onnx/onnx_import.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/op_case.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"
#include "tests/support/user_error.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

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
  tests::ExpectUserError(graph.status());
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
     {"Mystery", "'layer 7'", "op set 13", "'y'", "docs/onnx_coverage.md"}},
    {"UnknownDomain",
     Unary({2}).Node("Relu", {"x"}, {"y"}).Domain("my.ops"),
     kUnsupported,
     {"my.ops.Relu", "unknown op set domain"}},
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
