#include "compiler/frontend/onnx/testing/seed_models.h"

#include <cstdint>

#include "compiler/frontend/onnx/testing/seed_models_lowered.h"
#include "compiler/frontend/onnx/testing/test_model.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr auto kUint8 = onnx::TensorProto::UINT8;
constexpr auto kInt64 = onnx::TensorProto::INT64;
constexpr auto kBool = onnx::TensorProto::BOOL;

TestModel On(std::vector<int64_t> shape, int opset = 13) {
  TestModel model(opset);
  model.Input("x", std::move(shape)).Output("y");
  return model;
}

std::vector<float> Ones(int count) {
  return std::vector<float>(static_cast<size_t>(count), 1.0f);
}

// Operators that one expression of inputs "x" and "z" suffices for.
void AddOneNode(std::vector<TestModel>& models) {
  for (const char* op : {"Abs",        "Ceil",          "DynamicQuantizeLinear",
                         "Dropout",    "Elu",           "Erf",
                         "Exp",        "Flatten",       "Floor",
                         "Gelu",       "GlobalMaxPool", "HardSigmoid",
                         "HardSwish",  "Identity",      "LeakyRelu",
                         "Log",        "Neg",           "Reciprocal",
                         "ReduceL1",   "ReduceL2",      "ReduceMax",
                         "ReduceMean", "ReduceMin",     "ReduceProd",
                         "Relu",       "Round",         "Selu",
                         "Sigmoid",    "Sign",          "Size",
                         "Softmax",    "Softplus",      "Softsign",
                         "Sqrt",       "Tanh",          "ArgMin"}) {
    models.push_back(On({1, 2, 3, 3}, 20).Node(op, {"x"}, {"y"}));
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Max",
                         "Min", "Sum", "Mean", "MatMul", "Equal", "Greater",
                         "GreaterOrEqual", "Less", "LessOrEqual"}) {
    models.push_back(
        On({2, 3, 3}).Input("z", {3, 3}).Node(op, {"x", "z"}, {"y"}));
  }
  for (const char* op : {"And", "Or", "Xor"}) {
    TestModel model(13);
    models.push_back(model.TypedInput("x", kBool, {2})
                         .Node("Not", {"x"}, {"n"})
                         .Node(op, {"x", "n"}, {"y"})
                         .Output("y"));
  }
}

void AddWindows(std::vector<TestModel>& models) {
  models.push_back(On({1, 2, 4, 4})
                       .Floats("w", {2, 1, 2, 2}, Ones(8))
                       .Node("Conv", {"x", "w"}, {"y"})
                       .Int("group", 2)
                       .Ints("pads", {1, 0, 1, 0}));
  models.push_back(On({1, 4, 3})
                       .Floats("w", {4, 2, 2}, Ones(16))
                       .Node("Conv", {"x", "w"}, {"y"})
                       .Int("group", 2)
                       .String("auto_pad", "SAME_LOWER"));
  models.push_back(On({1, 2, 3, 3, 3})
                       .Floats("w", {2, 2, 2, 1, 1}, Ones(8))
                       .Node("Conv", {"x", "w"}, {"y"}));
  models.push_back(On({1, 2, 3, 3})
                       .Floats("w", {2, 1, 2, 2}, Ones(8))
                       .Node("ConvTranspose", {"x", "w"}, {"y"})
                       .Ints("strides", {2, 2})
                       .Ints("output_shape", {6, 6}));
  models.push_back(On({1, 1, 4, 4})
                       .Node("MaxPool", {"x"}, {"y", "i"})
                       .Output("i")
                       .Ints("kernel_shape", {2, 2})
                       .Ints("dilations", {2, 1}));
  models.push_back(On({1, 1, 5, 5})
                       .Node("AveragePool", {"x"}, {"p"})
                       .Ints("kernel_shape", {2, 2})
                       .Ints("strides", {2, 2})
                       .Ints("pads", {1, 1, 0, 0})
                       .Int("ceil_mode", 1)
                       .Int("count_include_pad", 1)
                       .Node("GlobalAveragePool", {"p"}, {"y"}));
  models.push_back(On({1, 1, 2, 2})
                       .Floats("s", {4}, {1, 1, 2, 1.5f})
                       .Node("Resize", {"x", "", "s"}, {"y"})
                       .String("mode", "cubic"));
  models.push_back(On({1, 1, 2, 2}, 9)
                       .Floats("s", {4}, {1, 1, 2, 2})
                       .Node("Upsample", {"x", "s"}, {"y"}));
}

void AddShapes(std::vector<TestModel>& models) {
  models.push_back(On({2, 3, 4})
                       .Integers("one", {1})
                       .Integers("end", {9})
                       .Integers("rest", {-1})
                       .Node("Shape", {"x"}, {"s"})
                       .Node("Slice", {"s", "one", "end"}, {"hw"})
                       .Node("Concat", {"rest", "hw"}, {"to"})
                       .Int("axis", 0)
                       .Node("Reshape", {"x", "to"}, {"r"})
                       .Node("Transpose", {"r"}, {"y"})
                       .Ints("perm", {2, 0, 1}));
  models.push_back(On({4, 2})
                       .Integers("parts", {1, 3})
                       .Node("Split", {"x", "parts"}, {"a", "b"})
                       .Integers("twice", {2, 2})
                       .Node("Tile", {"b", "twice"}, {"t"})
                       .Integers("pads", {1, -1, 0, 1})
                       .Node("Pad", {"t", "pads"}, {"y"})
                       .String("mode", "reflect"));
  models.push_back(On({1, 4, 2, 2})
                       .Node("DepthToSpace", {"x"}, {"d"})
                       .Int("blocksize", 2)
                       .Node("SpaceToDepth", {"d"}, {"s"})
                       .Int("blocksize", 2)
                       .Integers("i", {3, -1})
                       .Node("Gather", {"s", "i"}, {"g"})
                       .Int("axis", 1)
                       .Integers("to", {2, 1, 1, 1})
                       .Node("Expand", {"g", "to"}, {"y"}));
  models.push_back(On({3, 4})
                       .Integers("k", {2})
                       .Node("TopK", {"x", "k"}, {"v", "i"})
                       .Node("ArgMax", {"v"}, {"y"})
                       .Int("keepdims", 0)
                       .Output("i"));
  models.push_back(On({2, 3})
                       .Integers("axis", {1})
                       .Node("CumSum", {"x", "axis"}, {"c"})
                       .Node("ReduceSum", {"c", "axis"}, {"r"})
                       .Node("Squeeze", {"r", "axis"}, {"s"})
                       .Node("Unsqueeze", {"s", "axis"}, {"y"}));
}

void AddArithmetic(std::vector<TestModel>& models) {
  models.push_back(On({2, 3})
                       .Floats("low", {}, {-1})
                       .Floats("two", {1}, {2})
                       .Node("Clip", {"x", "low"}, {"c"})
                       .Node("Div", {"c", "two"}, {"d"})
                       .Node("Greater", {"d", "two"}, {"g"})
                       .Node("Where", {"g", "c", "d"}, {"w"})
                       .Node("Cast", {"w"}, {"i"})
                       .Int("to", kInt64)
                       .Node("Mean", {"w", "x"}, {"y"})
                       .Output("i"));
  models.push_back(On({2, 3, 4})
                       .Floats("b", {2, 4, 5}, Ones(40))
                       .Node("Einsum", {"x", "b"}, {"y"})
                       .String("equation", "...ij,...jk->k...i"));
  models.push_back(
      On({2, 2}).Node("Einsum", {"x"}, {"y"}).String("equation", "ii"));
  models.push_back(On({2, 3})
                       .Floats("w", {3, 4}, Ones(12))
                       .Floats("c", {1}, {0.5f})
                       .Node("Gemm", {"x", "w", "c"}, {"m"})
                       .Float("alpha", 0.5f)
                       .Node("LogSoftmax", {"m"}, {"s"})
                       .Node("Gelu", {"s"}, {"y"}));
  models.push_back(
      On({1, 2, 3, 3})
          .Floats("p", {2}, Ones(2))
          .Node("InstanceNormalization", {"x", "p", "p"}, {"n"})
          .Node("BatchNormalization", {"n", "p", "p", "p", "p"}, {"b"})
          .Node("LRN", {"b"}, {"l"})
          .Int("size", 3)
          .Floats("s", {3}, Ones(3))
          .Node("LayerNormalization", {"l", "s"}, {"y"}));
}

// What passes look for: activations and normalizations in parts, neighbours
// that become one.
void AddPatterns(std::vector<TestModel>& models) {
  models.push_back(On({2, 3})
                       .Floats("root", {}, {1.41421356f})
                       .Floats("one", {}, {1})
                       .Floats("half", {}, {0.5f})
                       .Node("Div", {"x", "root"}, {"d"})
                       .Node("Erf", {"d"}, {"e"})
                       .Node("Add", {"e", "one"}, {"a"})
                       .Node("Mul", {"x", "a"}, {"m"})
                       .Node("Mul", {"m", "half"}, {"y"}));
  models.push_back(On({2, 3}, 18)
                       .Floats("three", {}, {3})
                       .Floats("low", {}, {0})
                       .Floats("six", {}, {6})
                       .Node("Add", {"x", "three"}, {"a"})
                       .Node("Clip", {"a", "low", "six"}, {"c"})
                       .Node("Mul", {"x", "c"}, {"m"})
                       .Node("Div", {"m", "six"}, {"h"})
                       .Node("Exp", {"h"}, {"e"})
                       .Integers("axis", {-1})
                       .Node("ReduceSum", {"e", "axis"}, {"s"})
                       .Node("Div", {"e", "s"}, {"y"}));
  models.push_back(On({2, 4}, 13)
                       .Floats("two", {}, {2})
                       .Floats("eps", {}, {1e-5f})
                       .Floats("g", {4}, Ones(4))
                       .Node("ReduceMean", {"x"}, {"mean"})
                       .Ints("axes", {-1})
                       .Node("Sub", {"x", "mean"}, {"c"})
                       .Node("Pow", {"c", "two"}, {"p"})
                       .Node("ReduceMean", {"p"}, {"var"})
                       .Ints("axes", {-1})
                       .Node("Add", {"var", "eps"}, {"v"})
                       .Node("Sqrt", {"v"}, {"s"})
                       .Node("Div", {"c", "s"}, {"n"})
                       .Node("Mul", {"n", "g"}, {"m"})
                       .Node("Add", {"m", "g"}, {"y"}));
  models.push_back(
      On({1, 2, 4, 4})
          .Integers("pads", {0, 0, 1, 1, 0, 0, 1, 1})
          .Floats("w", {2, 2, 3, 3}, Ones(36))
          .Floats("b", {2}, {0.5f, 2})
          .Floats("slope", {}, {0.25f})
          .Node("Pad", {"x", "pads"}, {"p"})
          .Node("Conv", {"p", "w"}, {"c"})
          .Node("BatchNormalization", {"c", "b", "b", "b", "b"}, {"n"})
          .Node("Mul", {"n", "slope"}, {"m"})
          .Node("Relu", {"m"}, {"r"})
          .Node("ReduceMean", {"r"}, {"g"})
          .Ints("axes", {2, 3})
          .Int("keepdims", 0)
          .Floats("f", {2, 3}, Ones(6))
          .Floats("fb", {3}, Ones(3))
          .Node("MatMul", {"g", "f"}, {"d"})
          .Node("Add", {"d", "fb"}, {"y"}));
  models.push_back(On({2, 3, 4})
                       .Node("Transpose", {"x"}, {"t"})
                       .Ints("perm", {1, 2, 0})
                       .Node("Neg", {"t"}, {"n"})
                       .Node("Transpose", {"n"}, {"u"})
                       .Ints("perm", {2, 0, 1})
                       .Integers("flat", {6, -1})
                       .Integers("back", {2, 3, 4})
                       .Node("Reshape", {"u", "flat"}, {"f"})
                       .Node("Reshape", {"f", "back"}, {"b"})
                       .Node("Add", {"b", "x"}, {"y"}));
}

// Values that the import computes.
void AddConstants(std::vector<TestModel>& models) {
  models.push_back(On({2, 3})
                       .Integers("to", {2, 3})
                       .Node("ConstantOfShape", {"to"}, {"zeros"})
                       .Node("Constant", {}, {"two"})
                       .Float("value_float", 2)
                       .Node("Add", {"zeros", "two"}, {"sum"})
                       .Integers("i", {1, 0, 1})
                       .Node("Unsqueeze", {"i", "first"}, {"rows"})
                       .Integers("first", {0})
                       .Node("GatherElements", {"sum", "rows"}, {"g"})
                       .Node("Mul", {"x", "g"}, {"y"}));
  models.push_back(On({2, 3})
                       .Bytes("yes", kBool, {}, {1})
                       .Floats("z", {3}, Ones(3))
                       .Node("Where", {"yes", "x", "z"}, {"y"}));
  models.push_back(On({2, 3})
                       .Floats("first", {}, {1})
                       .Floats("end", {}, {-0.5f})
                       .Floats("step", {}, {-0.5f})
                       .Node("Range", {"first", "end", "step"}, {"r"})
                       .Node("Add", {"x", "r"}, {"y"}));
}

void AddRecurrence(std::vector<TestModel>& models) {
  models.push_back(On({2, 1, 2})
                       .Floats("w", {2, 4, 2}, Ones(16))
                       .Floats("r", {2, 4, 1}, Ones(8))
                       .Floats("b", {2, 8}, Ones(16))
                       .Node("LSTM", {"x", "w", "r", "b"}, {"y", "", "c"})
                       .Int("hidden_size", 1)
                       .String("direction", "bidirectional")
                       .Output("c"));
  models.push_back(On({1, 2, 2}, 14)
                       .Floats("w", {1, 3, 2}, Ones(6))
                       .Floats("r", {1, 3, 1}, Ones(3))
                       .Node("GRU", {"x", "w", "r"}, {"", "y"})
                       .Int("layout", 1)
                       .Strings("activations", {"HardSigmoid", "Softsign"}));
}

void AddQuantized(std::vector<TestModel>& models) {
  TestModel conv(13);
  conv.TypedInput("x", kUint8, {1, 1, 2, 2})
      .Floats("s", {}, {0.5f})
      .Bytes("z", kUint8, {}, {10})
      .Bytes("w", kUint8, {1, 1, 1, 1}, {11})
      .Node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z"}, {"q"})
      .Node("QLinearGlobalAveragePool", {"q", "s", "z", "s", "z"}, {"p"})
      .Domain("com.microsoft")
      .Node("DequantizeLinear", {"p", "s", "z"}, {"y"})
      .Output("y");
  models.push_back(conv);
  TestModel sums(13);
  sums.TypedInput("x", kUint8, {2, 2})
      .Floats("s", {}, {0.5f})
      .Bytes("z", kUint8, {}, {10})
      .Bytes("w", kUint8, {2, 2}, {1, 20, 3, 4})
      .Node("QLinearMatMul", {"x", "s", "z", "w", "s", "z", "s", "z"}, {"m"})
      .Node("QLinearAdd", {"m", "s", "z", "x", "s", "z", "s", "z"}, {"a"})
      .Domain("com.microsoft")
      .Node("QLinearMul", {"a", "s", "z", "w", "s", "z", "s", "z"}, {"p"})
      .Domain("com.microsoft")
      .Node("QLinearSoftmax", {"p", "s", "z", "s", "z"}, {"y"})
      .Domain("com.microsoft")
      .Int("axis", 1)
      .Int("opset", 13)
      .Output("y");
  models.push_back(sums);
  TestModel curves(13);
  curves.TypedInput("x", kUint8, {2, 2})
      .Floats("s", {}, {0.5f})
      .Bytes("z", kUint8, {}, {10})
      .Bytes("w", kUint8, {2, 2}, {1, 20, 3, 4})
      .Node("QGemm", {"x", "s", "z", "w", "s", "z", "", "s", "z"}, {"m"})
      .Domain("com.microsoft")
      .Int("transB", 1)
      .Node("QLinearLeakyRelu", {"m", "s", "z", "s", "z"}, {"l"})
      .Domain("com.microsoft")
      .Node("QLinearSigmoid", {"l", "s", "z", "s", "z"}, {"c"})
      .Domain("com.microsoft")
      .Node("QLinearConcat", {"s", "z", "x", "s", "z", "c", "s", "z"}, {"y"})
      .Domain("com.microsoft")
      .Int("axis", 1)
      .Output("y");
  models.push_back(curves);
  models.push_back(
      On({1, 1, 4, 4})
          .Floats("w", {1, 1, 2, 2}, Ones(4))
          .Floats("s", {}, {0.5f})
          .Bytes("z", kUint8, {}, {10})
          .Node("FusedConv", {"x", "w"}, {"c"})
          .Domain("com.microsoft")
          .String("activation", "Relu")
          .Node("QuantizeLinear", {"c", "s", "z"}, {"q"})
          .Node("QLinearAveragePool", {"q", "s", "z", "s", "z"}, {"p"})
          .Domain("com.microsoft")
          .Ints("kernel_shape", {2, 2})
          .Node("DequantizeLinear", {"p", "s", "z"}, {"d"})
          .Node("Gelu", {"d"}, {"y"})
          .Domain("com.microsoft"));
  models.push_back(On({2, 2})
                       .Floats("s", {}, {0.5f})
                       .Bytes("z", kUint8, {}, {10})
                       .Node("QuantizeLinear", {"x", "s", "z"}, {"q"})
                       .Domain("com.microsoft")
                       .Node("DequantizeLinear", {"q", "s", "z"}, {"y"})
                       .Domain("com.microsoft"));
  TestModel integers(13);
  integers.TypedInput("x", kUint8, {1, 1, 3, 3})
      .Bytes("w", kUint8, {1, 1, 2, 2}, {1, 2, 3, 4})
      .Bytes("z", kUint8, {}, {2})
      .Node("ConvInteger", {"x", "w", "z", "z"}, {"y"})
      .Output("y");
  models.push_back(integers);
  models.push_back(On({2, 2})
                       .Bytes("w", kUint8, {2, 2}, {1, 2, 3, 4})
                       .Node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"})
                       .Node("MatMulInteger", {"q", "w", "z"}, {"i"})
                       .Node("Cast", {"i"}, {"f"})
                       .Int("to", 1)
                       .Node("Mul", {"f", "s"}, {"y"}));
}

void AddInlined(std::vector<TestModel>& models) {
  TestModel body;
  body.Input("a", {}).Output("b").Node("Relu", {"a"}, {"b"});
  TestModel branch;
  branch.Output("t").Node("Neg", {"x"}, {"t"});
  TestModel rounds;
  rounds.TypedInput("i", kInt64, {})
      .TypedInput("go", kBool, {})
      .Input("v", {2})
      .Output("go")
      .Output("w")
      .Output("v")
      .Node("Relu6", {"v"}, {"w"})
      .Domain("local");
  TestModel model = On({2});
  model.Function("Relu6", body)
      .Bytes("yes", kBool, {}, {1})
      .Integers("twice", {2})
      .Node("If", {"yes"}, {"n"})
      .Graph("then_branch", branch)
      .Graph("else_branch", branch)
      .Node("Loop", {"twice", "", "n"}, {"l", "y"})
      .Graph("body", rounds);
  models.push_back(model);
}

}  // namespace

std::vector<std::string> SeedModels() {
  std::vector<TestModel> models;
  AddOneNode(models);
  AddWindows(models);
  AddShapes(models);
  AddArithmetic(models);
  AddPatterns(models);
  AddConstants(models);
  AddRecurrence(models);
  AddQuantized(models);
  AddInlined(models);
  AddLoweredSeeds(models);
  std::vector<std::string> bytes;
  for (const TestModel& model : models) bytes.push_back(model.bytes());
  return bytes;
}

}  // namespace edgekiln::compiler::onnx_import
