// Quantized operators, and what becomes of integers with and without a scale,
// as imported: the pass that moves ops into the integers may change a step.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr auto kUint8 = onnx::TensorProto::UINT8;
constexpr auto kInt8 = onnx::TensorProto::INT8;
// Newer than the library.
constexpr auto kUint4 = static_cast<onnx::TensorProto::DataType>(21);
constexpr auto kInt4 = static_cast<onnx::TensorProto::DataType>(22);

struct QuantizedCase {
  const char* name;
  TestModel model;  // uint8 or int8 input "x", output "y" of one byte each.
  std::vector<int> x;
  std::vector<int> y;
};

void PrintTo(const QuantizedCase& row, std::ostream* out) { *out << row.name; }

std::string Pack(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

class OnnxQuantizedTest : public testing::TestWithParam<QuantizedCase> {};

TEST_P(OnnxQuantizedTest, ComputesInSteps) {
  const absl::StatusOr<Graph> graph =
      ImportOnnx(TestModel(GetParam().model).bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string x = Pack(GetParam().x);
  const auto outputs = Evaluate(*graph, {x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0], Pack(GetParam().y));
}

// x has scale 0.5 and zero point 10; "s1" and "z0" are 1 and 0.
TestModel Quantized(std::vector<int64_t> shape) {
  TestModel model(13);
  model.TypedInput("x", kUint8, std::move(shape))
      .Floats("xs", {}, {0.5f})
      .Bytes("xz", kUint8, {}, {10})
      .Floats("s1", {}, {1})
      .Bytes("z0", kUint8, {}, {0})
      .Output("y");
  return model;
}

const QuantizedCase kCases[] = {
    {"QLinearAdd",
     Quantized({3})
         .Bytes("b", kUint8, {3}, {11, 12, 14})
         .Node("QLinearAdd", {"x", "xs", "xz", "b", "xs", "xz", "s1", "z0"},
               {"y"})
         .Domain("com.microsoft"),
     {11, 20, 30},
     {1, 6, 12}},
    {"QLinearMul",
     Quantized({2})
         .Bytes("b", kUint8, {2}, {14, 16})
         .Node("QLinearMul", {"x", "xs", "xz", "b", "xs", "xz", "s1", "z0"},
               {"y"})
         .Domain("com.microsoft"),
     {14, 30},
     {4, 30}},
    {"QLinearAveragePool",
     Quantized({1, 1, 2, 2})
         .Node("QLinearAveragePool", {"x", "xs", "xz", "s1", "z0"}, {"y"})
         .Domain("com.microsoft")
         .Ints("kernel_shape", {2, 2}),
     {12, 14, 16, 18},
     {2}},  // 2.5, to even.
    {"QLinearGlobalAveragePoolChannelsLast",
     Quantized({1, 2, 1, 2})
         .Node("QLinearGlobalAveragePool", {"x", "xs", "xz", "s1", "z0"}, {"y"})
         .Domain("com.microsoft")
         .Int("channels_last", 1),
     {12, 110, 16, 130},
     {2, 55}},
    {"QLinearSoftmax",
     Quantized({1, 2})
         .Floats("ys", {}, {1.0f / 256})
         .Node("QLinearSoftmax", {"x", "xs", "xz", "ys", "z0"}, {"y"})
         .Domain("com.microsoft")
         .Int("opset", 13),
     {10, 10},
     {128, 128}},
    {"QLinearLeakyRelu",
     Quantized({3})
         .Bytes("yz", kUint8, {}, {100})
         .Node("QLinearLeakyRelu", {"x", "xs", "xz", "s1", "yz"}, {"y"})
         .Domain("com.microsoft")
         .Float("alpha", 0.5f),
     {2, 10, 18},
     {98, 100, 104}},
    {"QLinearSigmoid",
     Quantized({2})
         .Floats("ys", {}, {1.0f / 256})
         .Node("QLinearSigmoid", {"x", "xs", "xz", "ys", "z0"}, {"y"})
         .Domain("com.microsoft"),
     {10, 110},
     {128, 255}},
    // The parts in steps of 0.5 from 10, and of 1 from 0.
    {"QLinearConcat",
     Quantized({2})
         .Bytes("b", kUint8, {1}, {7})
         .Node("QLinearConcat", {"s1", "z0", "x", "xs", "xz", "b", "s1", "z0"},
               {"y"})
         .Domain("com.microsoft")
         .Int("axis", 0),
     {12, 20},
     {1, 5, 7}},
    // 0.5 * (x * w + c), a scale per column, c in steps of 0.5 * 0.5 * ws.
    {"QGemm",
     Quantized({1, 2})
         .Bytes("w", kInt8, {2, 2}, {2, -3, 4, 5})
         .Floats("ws", {2}, {1, 2})
         .Bytes("wz", kInt8, {2}, {0, 0})
         .Bytes("c8", kInt8, {2}, {7, 6})
         .Bytes("yz", kUint8, {}, {100})
         .Node("Cast", {"c8"}, {"c"})
         .Int("to", onnx::TensorProto::INT32)
         .Node("QGemm", {"x", "xs", "xz", "w", "ws", "wz", "c", "s1", "yz"},
               {"y"})
         .Domain("com.microsoft")
         .Float("alpha", 0.5f)
         .Int("transB", 1),
     {14, 20},
     {96, 136}},
    // A scale per output channel, a bias in steps of both scales.
    {"QLinearConv",
     Quantized({1, 1, 1, 2})
         .Bytes("w", kInt8, {2, 1, 1, 1}, {2, -3})
         .Floats("ws", {2}, {0.5f, 1})
         .Bytes("wz", kInt8, {2}, {0, 0})
         .Bytes("yz", kUint8, {}, {100})
         .Node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "s1", "yz"},
               {"y"}),
     {12, 20},
     {101, 105, 97, 85}},
    // The same tensor with two meanings: the second is arithmetic.
    {"TwoMeaningsOfOneInput",
     Quantized({2})
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("DequantizeLinear", {"x", "s1", "z0"}, {"b"})
         .Node("Add", {"a", "b"}, {"sum"})
         .Node("QuantizeLinear", {"sum", "s1", "z0"}, {"y"}),
     {10, 20},
     {10, 25}},
    // Rounds half to even, as ONNX says.
    {"QuantizeRoundsToEven",
     Quantized({4})
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("QuantizeLinear", {"a", "s1", "z0"}, {"y"}),
     {11, 13, 15, 17},
     {0, 2, 2, 4}},
    // Between the two only moves: the integers keep their scale.
    {"MovesOfQuantizedValues",
     Quantized({2, 2})
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("QuantizeLinear", {"a", "xs", "xz"}, {"q"})
         .Node("Transpose", {"q"}, {"t"})
         .Node("DequantizeLinear", {"t", "xs", "xz"}, {"b"})
         .Node("QuantizeLinear", {"b", "xs", "xz"}, {"y"}),
     {1, 2, 3, 4},
     {1, 3, 2, 4}},
    // What is quantized is bare integers to arithmetic.
    {"ArithmeticOnQuantizedIntegers",
     Quantized({2})
         .Bytes("two", kUint8, {}, {2})
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("QuantizeLinear", {"a", "xs", "xz"}, {"q"})
         .Node("Mul", {"q", "two"}, {"y"}),
     {10, 77},
     {20, 154}},
    {"MatMulInteger",
     Quantized({1, 2})
         .Bytes("w", kUint8, {2, 2}, {1, 2, 3, 4})
         .Node("MatMulInteger", {"x", "w", "xz"}, {"i"})
         .Node("Cast", {"i"}, {"y"})
         .Int("to", kUint8),
     {12, 15},
     {17, 24}},
    // Blocks of two along axis 1, the last a single one.
    {"DequantizeInBlocks",
     Quantized({2, 5})
         .Floats("bs", {2, 3}, {1, 2, 0.5f, 3, 1, 4})
         .Bytes("bz", kUint8, {2, 3}, {0, 10, 2, 1, 0, 3})
         .Node("DequantizeLinear", {"x", "bs", "bz"}, {"a"})
         .Int("block_size", 2)
         .Node("QuantizeLinear", {"a", "s1", "z0"}, {"y"}),
     {1, 2, 13, 14, 9, 4, 5, 60, 70, 8},
     {1, 2, 6, 8, 4, 9, 12, 60, 70, 20}},
    {"QuantizeInBlocks",
     Quantized({4, 2})
         .Floats("bs", {2, 2}, {1, 2, 0.25f, 4})
         .Bytes("bz", kUint8, {2, 2}, {0, 100, 5, 0})
         .Node("DequantizeLinear", {"x", "s1", "z0"}, {"a"})
         .Node("QuantizeLinear", {"a", "bs", "bz"}, {"y"})
         .Int("axis", 0)
         .Int("block_size", 3),
     {7, 7, 8, 8, 9, 10, 11, 12},
     {7, 104, 8, 104, 9, 105, 49, 3}},
    {"BlocksLargerThanTheAxis",
     Quantized({3, 1})
         .Floats("bs", {1, 1}, {2})
         .Node("DequantizeLinear", {"x", "bs"}, {"a"})
         .Int("axis", -2)
         .Int("block_size", 1000)
         .Node("QuantizeLinear", {"a", "s1", "z0"}, {"y"}),
     {1, 2, 3},
     {2, 4, 6}},
    // Two values a byte, the first in the lower half: 7, -8, -1, 2, 3.
    {"WeightsOfFourBitsInBlocks",
     Quantized({5})
         .Bytes("w", kInt4, {5}, {0x87, 0x2f, 0x03})
         .Floats("bs", {2}, {1, 10})
         .Bytes("bz", kInt4, {2}, {0x1e})  // -2 and 1.
         .Node("DequantizeLinear", {"w", "bs", "bz"}, {"a"})
         .Int("axis", 0)
         .Int("block_size", 3)
         .Node("DequantizeLinear", {"x", "s1", "z0"}, {"b"})
         .Node("Add", {"a", "b"}, {"sum"})
         .Node("QuantizeLinear", {"sum", "s1", "z0"}, {"y"}),
     {100, 100, 100, 100, 100},
     {109, 94, 101, 110, 120}},
    {"QuantizeToInt4",
     Quantized({4})
         .Bytes("bz", kInt4, {}, {0x0f})  // -1.
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("QuantizeLinear", {"a", "s1", "bz"}, {"y"}),
     {0, 4, 13, 200},
     {-6, -4, 1, 7}},
    {"QuantizeToUint4",
     Quantized({4})
         .Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
         .Node("QuantizeLinear", {"a", "s1"}, {"y"})
         .Int("output_dtype", kUint4),
     {0, 10, 13, 200},
     {0, 0, 2, 15}},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxQuantizedTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(OnnxQuantizeLinearTest, AScaleOfZeroIsRefused) {
  TestModel model = Quantized({2});
  model.Floats("none", {}, {0})
      .Node("DequantizeLinear", {"x", "none", "xz"}, {"y"});
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("a scale of 0"),
            absl::string_view::npos)
      << graph.status();
}

TEST(OnnxQuantizeLinearTest, ConstantsInBlocksBecomeFloatsAtImport) {
  TestModel model(21);
  model.Input("x", {4, 2})
      .Bytes("w", kInt8, {4, 2}, {1, 2, 3, 4, -5, -6, -7, -8})
      .Floats("s", {2, 2}, {1, 2, 3, 4})
      .Node("DequantizeLinear", {"w", "s"}, {"a"})
      .Int("axis", 0)
      .Int("block_size", 2)
      .Node("Add", {"x", "a"}, {"y"})
      .Output("y");
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->ops.size(), 1u);
  const Tensor& a = graph->tensors[graph->ops[0].inputs[1]];
  ASSERT_TRUE(a.is_constant());
  const std::vector<float> want = {1, 4, 3, 8, -15, -24, -21, -32};
  EXPECT_EQ(*a.data, std::string(reinterpret_cast<const char*>(want.data()),
                                 want.size() * sizeof(float)));
}

TEST(OnnxQuantizeLinearTest, BlocksAndScalesMustFit) {
  TestModel model = Quantized({4});
  model.Floats("bs", {3}, {1, 1, 1})
      .Node("DequantizeLinear", {"x", "bs"}, {"y"})
      .Int("axis", 0)
      .Int("block_size", 2);
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("blocks of 2 need [2]"),
            absl::string_view::npos)
      << graph.status();
}

// A model of few bytes must not make a constant of many.
TEST(OnnxQuantizeLinearTest, SpreadingBlocksOfALargeInputCostsNothing) {
  TestModel model = Quantized({1 << 27});
  model.Floats("bs", {1}, {2})
      .Node("DequantizeLinear", {"x", "bs"}, {"y"})
      .Int("axis", 0)
      .Int("block_size", 1 << 27);
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  int64_t bytes = 0;
  for (const Tensor& tensor : graph->tensors) {
    if (tensor.is_constant()) bytes += std::ssize(*tensor.data);
  }
  EXPECT_LE(bytes, int64_t{17} << 20);
}

TEST(OnnxQuantizeLinearTest, Float8IsRefusedByName) {
  TestModel model = Quantized({2});
  model.Node("DequantizeLinear", {"x", "xs", "xz"}, {"a"})
      .Node("QuantizeLinear", {"a", "s1"}, {"y"})
      .Int("output_dtype", 17);
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("FLOAT8E4M3FN"),
            absl::string_view::npos)
      << graph.status();
}

}  // namespace
}  // namespace edgekiln::compiler
