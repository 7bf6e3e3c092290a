// Small files that ask for much memory or work, in the import and in the
// simplification behind it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/hostile_inlining.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"
#include "tests/support/user_error.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr auto kUint8 = onnx::TensorProto::UINT8;

// t0 to `last` through one operator after the other, each of the value before
// as often as it has inputs.
TestModel& Chain(TestModel& model, const std::string& op, int length,
                 int inputs = 1) {
  for (int i = 0; i < length; ++i) {
    model.Node(op,
               std::vector<std::string>(static_cast<size_t>(inputs),
                                        absl::StrCat("t", i)),
               {absl::StrCat("t", i + 1)});
    if (op == "Concat") model.Int("axis", 0);
  }
  return model.Output(absl::StrCat("t", length));
}

// t0 of that shape, of a few bytes in the file.
TestModel Zeros(std::vector<int64_t> shape) {
  TestModel model;
  model.Integers("s", std::move(shape))
      .Node("ConstantOfShape", {"s"}, {"t0"})
      .Input("x", {1});
  return model;
}

using Models = std::vector<HostileCase>;

// Zeros of all sizes through one operator over and over.
void AddChains(Models& models) {
  const auto add = [&models](const char* name, std::vector<int64_t> shape,
                             const std::string& op, int length,
                             int inputs = 1) {
    TestModel model = Zeros(std::move(shape));
    models.push_back({name, Chain(model, op, length, inputs)});
  };
  add("a constant of 2^62 bytes", {int64_t{1} << 31, int64_t{1} << 29}, "Neg",
      1);
  add("a constant of 1 GiB", {1 << 14, 1 << 14}, "Neg", 1);
  for (const int side : {512, 700, 1024, 1400, 2048}) {
    for (const char* op : {"Neg", "Transpose", "Softmax", "Size", "Flatten"}) {
      add(op, {side, side}, op, 12);
    }
    for (const char* op : {"Add", "MatMul", "Pow", "Concat"}) {
      add(op, {side, side}, op, 12, 2);
    }
  }
  add("doubled over and over", {64}, "Concat", 24, 2);
  add("20-fold each time", {1}, "Concat", 8, 20);
}

void AddGrowth(Models& models) {
  models.push_back(
      {"products of what is expanded", Zeros({1, 1})
                                           .Integers("to", {1 << 12, 1 << 12})
                                           .Node("Expand", {"t0", "to"}, {"e"})
                                           .Node("Transpose", {"e"}, {"t"})
                                           .Node("MatMul", {"e", "t"}, {"m"})
                                           .Node("Add", {"m", "x"}, {"y"})
                                           .Output("y")});
  models.push_back({"tiled twice", Zeros({1, 1})
                                       .Integers("by", {1 << 11, 1 << 11})
                                       .Node("Tile", {"t0", "by"}, {"a"})
                                       .Node("Tile", {"a", "by"}, {"b"})
                                       .Output("b")});
  models.push_back({"tiled", Zeros({1, 1})
                                 .Integers("by", {1 << 11, 1 << 11})
                                 .Node("Tile", {"t0", "by"}, {"a"})
                                 .Node("Add", {"a", "x"}, {"y"})
                                 .Output("y")});
  models.push_back({"resized", Zeros({1, 1, 1, 1})
                                   .Floats("by", {4}, {1, 1, 3000, 3000})
                                   .Node("Resize", {"t0", "", "by"}, {"r"})
                                   .String("mode", "cubic")
                                   .Node("Add", {"r", "x"}, {"y"})
                                   .Output("y")});
  models.push_back({"a range", TestModel()
                                   .Floats("a", {}, {0})
                                   .Floats("b", {}, {3e38f})
                                   .Floats("d", {}, {1e-38f})
                                   .Node("Range", {"a", "b", "d"}, {"y"})
                                   .Output("y")});
}

// Work that windows, rows and steps multiply.
void AddLayers(Models& models) {
  models.push_back({"large windows",
                    Zeros({1, 1, 1, 1})
                        .Integers("pads", {0, 0, 1000, 1000, 0, 0, 1000, 1000})
                        .Node("Pad", {"t0", "pads"}, {"p"})
                        .Node("MaxPool", {"p"}, {"q"})
                        .Ints("kernel_shape", {999, 999})
                        .Node("LRN", {"q"}, {"l"})
                        .Int("size", 999)
                        .Node("Add", {"l", "x"}, {"y"})
                        .Output("y")});
  models.push_back({"a convolution of constants",
                    Zeros({1, 8, 64, 64})
                        .Integers("w", {512, 8, 5, 5})
                        .Node("ConstantOfShape", {"w"}, {"weights"})
                        .Node("Conv", {"t0", "weights"}, {"c"})
                        .Node("Add", {"c", "x"}, {"y"})
                        .Output("y")});
  models.push_back(
      {"a recurrent layer of zeros", Zeros({64, 1, 64})
                                         .Integers("ws", {1, 4096, 64})
                                         .Integers("rs", {1, 4096, 1024})
                                         .Node("ConstantOfShape", {"ws"}, {"w"})
                                         .Node("ConstantOfShape", {"rs"}, {"r"})
                                         .Node("LSTM", {"t0", "w", "r"}, {"y"})
                                         .Int("hidden_size", 1024)
                                         .Output("y")});
  models.push_back(
      {"sorted zeros", Zeros({1 << 20})
                           .Integers("k", {1 << 20})
                           .Node("TopK", {"t0", "k"}, {"v", "i"})
                           .Node("GatherElements", {"v", "i"}, {"g"})
                           .Node("Add", {"g", "x"}, {"y"})
                           .Output("y")});
  models.push_back(
      {"a product of all with all", Zeros({64, 64, 64})
                                        .Node("Einsum", {"t0", "t0"}, {"e"})
                                        .String("equation", "abc,def->abcdef")
                                        .Output("e")});
  models.push_back({"sums of products", Zeros({64, 64, 64})
                                            .Node("Einsum", {"t0", "t0"}, {"e"})
                                            .String("equation", "abc,dbc->ad")
                                            .Node("Einsum", {"t0", "e"}, {"f"})
                                            .String("equation", "aaa,ad->da")
                                            .Node("Add", {"f", "x"}, {"y"})
                                            .Output("y")});
}

TestModel ValuesElsewhere() {
  TestModel model;
  model.Floats("w", {1 << 20}, {}).Node("Neg", {"w"}, {"y"}).Output("y");
  auto* tensor = model.proto().mutable_graph()->mutable_initializer(0);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("/dev/zero");
  return model;
}

// What the file says, but does not hold.
void AddClaims(Models& models) {
  models.push_back(
      {"values that are not there", TestModel()
                                        .Floats("w", {1 << 30}, {1})
                                        .Node("Neg", {"w"}, {"y"})
                                        .Output("y")});
  models.push_back({"values in another file", ValuesElsewhere()});
  models.push_back(
      {"text", TestModel()
                   .Bytes("w", onnx::TensorProto::STRING, {1 << 30}, {1})
                   .Node("Identity", {"w"}, {"y"})
                   .Output("y")});
  models.push_back({"many parts", TestModel(18)
                                      .Input("x", {1 << 13, 1 << 13})
                                      .Node("Split", {"x"}, {"a", "b"})
                                      .Int("num_outputs", 1 << 30)
                                      .Output("a")});
}

Models MuchMemory() {
  Models models = MuchInlined();
  AddChains(models);
  AddGrowth(models);
  AddLayers(models);
  AddClaims(models);
  return models;
}

// Refused, or a graph that simplifies.
TEST(OnnxHostileTest, ASmallFileTakesLittleMemory) {
  constexpr int64_t kMaxBytes = int64_t{64} << 20;
  for (const HostileCase& hostile : MuchMemory()) {
    SCOPED_TRACE(hostile.name);
    const std::string bytes = hostile.model.bytes();
    EXPECT_LE(bytes.size(), 1024u);
    const tests::HeapPeak peak;
    absl::StatusOr<Graph> graph = ImportOnnx(bytes);
    const int64_t imported = peak.bytes();
    EXPECT_LT(imported, kMaxBytes) << graph.status();
    if (graph.ok()) {
      const absl::Status simplified = Simplify(*graph);
      EXPECT_TRUE(simplified.ok()) << simplified;
    } else {
      tests::ExpectUserError(graph.status());
    }
    EXPECT_LT(peak.bytes(), kMaxBytes);
  }
}

// Reading and copying take time, too.
TEST(OnnxHostileTest, WhatIsReadAgainIsBounded) {
  for (const HostileCase& hostile : MuchReadAgain()) {
    SCOPED_TRACE(hostile.name);
    const std::string bytes = hostile.model.bytes();
    const tests::HeapPeak peak;
    const absl::StatusOr<Graph> graph = ImportOnnx(bytes);
    tests::ExpectUserError(graph.status());
    EXPECT_NE(
        graph.status().message().find("functions, branches and loops become"),
        absl::string_view::npos)
        << graph.status();
    EXPECT_LT(peak.bytes(), int64_t{16} << 20);
  }
}

TestModel NumberAsWeights() {
  TestModel model;
  return model.TypedInput("x", kUint8, {1, 1, 3, 3})
      .Bytes("w", kUint8, {}, {1})
      .Bytes("z", kUint8, {}, {2})
      .Node("ConvInteger", {"x", "w", "z", "z"}, {"y"})
      .Output("y");
}

TestModel ScalesWhoseProductIsZero() {
  TestModel model;
  model.TypedInput("x", kUint8, {1, 1, 1, 1})
      .Floats("s", {}, {1e-30f})
      .Bytes("z", kUint8, {}, {0})
      .Bytes("w", kUint8, {1, 1, 1, 1}, {1})
      .Floats("f", {1}, {1})
      .Node("Cast", {"f"}, {"b"})
      .Int("to", onnx::TensorProto::INT32);
  return model
      .Node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z", "b"}, {"y"})
      .Output("y");
}

TestModel NothingAsFactor() {
  TestModel model;
  return model.Input("x", {0})
      .Floats("c", {0}, {})
      .Node("Mul", {"x", "c"}, {"m"})
      .Node("Erf", {"m"}, {"e"})
      .Node("Mul", {"e", "m"}, {"y"})
      .Output("y");
}

// What fuzzing found; a sanitizer has to look on.
TEST(OnnxHostileTest, WhatOnceCrashedIsRefusedOrImports) {
  const HostileCase found[] = {
      {"ConvInteger with a number as weights", NumberAsWeights()},
      {"a bias whose scale underflows", ScalesWhoseProductIsZero()},
      {"a constant without values", NothingAsFactor()},
  };
  for (const HostileCase& hostile : found) {
    SCOPED_TRACE(hostile.name);
    absl::StatusOr<Graph> graph = ImportOnnx(hostile.model.bytes());
    if (graph.ok()) {
      EXPECT_TRUE(Simplify(*graph).ok());
    } else {
      tests::ExpectUserError(graph.status());
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
