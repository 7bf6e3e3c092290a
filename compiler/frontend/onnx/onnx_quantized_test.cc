// Quantized operators, and what becomes of integers with and without a scale,
// as imported: the pass that moves ops into the integers may change a step.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/test_model.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr auto kUint8 = onnx::TensorProto::UINT8;
constexpr auto kInt8 = onnx::TensorProto::INT8;

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

}  // namespace
}  // namespace edgekiln::compiler
