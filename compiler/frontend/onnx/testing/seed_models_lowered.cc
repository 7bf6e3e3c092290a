#include "compiler/frontend/onnx/testing/seed_models_lowered.h"

#include <cstdint>
#include <string>
#include <utility>

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr auto kUint8 = onnx::TensorProto::UINT8;
constexpr auto kInt64 = onnx::TensorProto::INT64;
constexpr auto kBool = onnx::TensorProto::BOOL;

TestModel On(std::vector<int64_t> shape, int opset = 20) {
  TestModel model(opset);
  model.Input("x", std::move(shape)).Output("y");
  return model;
}

std::vector<float> Ones(int count) {
  return std::vector<float>(static_cast<size_t>(count), 1.0f);
}

void AddFunctions(std::vector<TestModel>& models) {
  for (const char* op : {"Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "Celu",
                         "Cos",
                         "Cosh",
                         "GlobalLpPool",
                         "Hardmax",
                         "IsInf",
                         "IsNaN",
                         "LpNormalization",
                         "MeanVarianceNormalization",
                         "Mish",
                         "ReduceLogSum",
                         "ReduceLogSumExp",
                         "ReduceSumSquare",
                         "Shrink",
                         "Sin",
                         "Sinh",
                         "Tan",
                         "ThresholdedRelu"}) {
    models.push_back(On({1, 2, 3, 3}).Node(op, {"x"}, {"y"}));
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"}) {
    TestModel model(20);
    model.TypedInput("x", kUint8, {2})
        .Node("BitwiseNot", {"x"}, {"n"})
        .Node(op, {"x", "n"}, {"y"});
    if (op == std::string("BitShift")) model.String("direction", "RIGHT");
    models.push_back(model.Output("y"));
  }
  models.push_back(On({2, 3})
                       .Floats("d", {3}, {2, -3, 1.5f})
                       .Node("Mod", {"x", "d"}, {"m"})
                       .Int("fmod", 1)
                       .Node("CastLike", {"m", "d"}, {"y"}));
  models.push_back(On({1, 1, 4, 4})
                       .Node("LpPool", {"x"}, {"y"})
                       .Ints("kernel_shape", {2, 2})
                       .Int("ceil_mode", 1));
  models.push_back(On({1, 4, 2})
                       .Floats("s", {2}, {1, 2})
                       .Node("GroupNormalization", {"x", "s", "s"}, {"y"})
                       .Int("num_groups", 2));
}

void AddMasks(std::vector<TestModel>& models) {
  models.push_back(On({3, 4})
                       .Integers("k", {1})
                       .Node("Trilu", {"x", "k"}, {"t"})
                       .Node("EyeLike", {"t"}, {"e"})
                       .Int("k", -1)
                       .Node("Add", {"t", "e"}, {"y"}));
  TestModel one_hot(20);
  models.push_back(one_hot.TypedInput("x", kInt64, {2})
                       .Floats("depth", {}, {3})
                       .Floats("v", {2}, {0, 1})
                       .Node("OneHot", {"x", "depth", "v"}, {"y"})
                       .Int("axis", 0)
                       .Output("y"));
  models.push_back(On({2, 3})
                       .Bytes("c", kBool, {3}, {1, 0, 1})
                       .Node("Compress", {"x", "c"}, {"k"})
                       .Int("axis", 1)
                       .Floats("v", {2, 2}, {1, 0, 1, 0})
                       .Node("Unique", {"v"}, {"u", "f", "i", "n"})
                       .Int("axis", 1)
                       .Node("NonZero", {"u"}, {"z"})
                       .Node("Gather", {"k", "z"}, {"y"})
                       .Output("f")
                       .Output("i")
                       .Output("n"));
}

void AddIndexed(std::vector<TestModel>& models) {
  models.push_back(On({3, 2}, 16)
                       .Integers("flat", {2, 0})
                       .Integers("column", {2, 1})
                       .Node("Reshape", {"flat", "column"}, {"i"})
                       .Node("GatherND", {"x", "i"}, {"g"})
                       .Node("ScatterND", {"x", "i", "g"}, {"s"})
                       .String("reduction", "add")
                       .Floats("u", {2, 1}, {5, 6})
                       .Node("ScatterElements", {"s", "i", "u"}, {"e"})
                       .Int("axis", 0)
                       .Integers("n", {1, 3})
                       .Node("ReverseSequence", {"e", "n"}, {"y"}));
  models.push_back(On({3, 2}, 9)
                       .Integers("flat", {2, 0})
                       .Integers("row", {1, 2})
                       .Node("Reshape", {"flat", "row"}, {"i"})
                       .Floats("u", {1, 2}, {5, 6})
                       .Node("Scatter", {"x", "i", "u"}, {"y"}));
  models.push_back(On({1, 1, 4, 4}, 16)
                       .Node("MaxPool", {"x"}, {"p", "i"})
                       .Ints("kernel_shape", {2, 2})
                       .Ints("strides", {2, 2})
                       .Node("MaxUnpool", {"p", "i"}, {"u"})
                       .Ints("kernel_shape", {2, 2})
                       .Ints("strides", {2, 2})
                       .Floats("g", {1, 1, 2, 2}, {0, 0, 0.5f, -1})
                       .Node("GridSample", {"u", "g"}, {"y"})
                       .String("mode", "bicubic")
                       .String("padding_mode", "reflection"));
  TestModel loss = On({2, 3});
  models.push_back(
      loss.TypedInput("labels", kInt64, {2})
          .Floats("w", {3}, Ones(3))
          .Node("SoftmaxCrossEntropyLoss", {"x", "labels", "w"}, {"l", "p"})
          .Int("ignore_index", -1)
          .Node("NegativeLogLikelihoodLoss", {"p", "labels"}, {"y"})
          .Output("l"));
}

void AddSignals(std::vector<TestModel>& models) {
  models.push_back(On({1, 8, 1}, 17)
                       .Floats("step", {}, {2})
                       .Floats("four", {}, {4})
                       .Node("HannWindow", {"four"}, {"hann"})
                       .Node("HammingWindow", {"four"}, {"hamming"})
                       .Node("BlackmanWindow", {"four"}, {"blackman"})
                       .Node("Sum", {"hann", "hamming", "blackman"}, {"w"})
                       .Node("STFT", {"x", "step", "w"}, {"s"})
                       .Node("DFT", {"s", "four"}, {"y"})
                       .Int("inverse", 1)
                       .Int("axis", 2));
  models.push_back(On({1, 5}, 17)
                       .Floats("bands", {}, {2})
                       .Floats("length", {}, {8})
                       .Floats("rate", {}, {8000})
                       .Floats("low", {}, {0})
                       .Floats("high", {}, {4000})
                       .Node("MelWeightMatrix",
                             {"bands", "length", "rate", "low", "high"}, {"m"})
                       .Node("MatMul", {"x", "m"}, {"y"}));
}

void AddRounds(std::vector<TestModel>& models) {
  models.push_back(On({2, 1, 3}, 14)
                       .Floats("w", {2, 2, 3}, Ones(12))
                       .Floats("r", {2, 2, 2}, Ones(8))
                       .Floats("b", {2, 4}, Ones(8))
                       .Node("RNN", {"x", "w", "r", "b"}, {"y"})
                       .String("direction", "bidirectional")
                       .Strings("activations", {"Relu", "Affine"})
                       .Int("hidden_size", 2));
  TestModel body;
  body.Input("s", {2})
      .Input("e", {2})
      .Output("t")
      .Output("o")
      .Node("Add", {"s", "e"}, {"t"})
      .Node("Neg", {"t"}, {"o"});
  models.push_back(On({2, 3}, 14)
                       .Floats("zero", {2}, {0, 0})
                       .Node("Scan", {"zero", "x"}, {"last", "y"})
                       .Int("num_scan_inputs", 1)
                       .Ints("scan_input_axes", {1})
                       .Ints("scan_input_directions", {1})
                       .Graph("body", body)
                       .Output("last"));
}

}  // namespace

void AddLoweredSeeds(std::vector<TestModel>& models) {
  AddFunctions(models);
  AddMasks(models);
  AddIndexed(models);
  AddSignals(models);
  AddRounds(models);
}

}  // namespace edgekiln::compiler::onnx_import
