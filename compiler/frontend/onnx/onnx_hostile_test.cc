// Models that mean harm: small files that ask for much memory or work, and
// models changed at random.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/rng.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/model_mutator.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/seed_models.h"
#include "compiler/frontend/onnx/test_model.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr auto kBool = onnx::TensorProto::BOOL;
constexpr auto kInt64 = onnx::TensorProto::INT64;
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

// Each function calls the next one twice.
TestModel CallsTwice(int levels) {
  TestModel model;
  model.Input("x", {1}).Output("y");
  for (int i = 0; i < levels; ++i) {
    TestModel body;
    body.Input("a", {}).Output("c");
    const std::string next =
        i + 1 < levels ? absl::StrCat("f", i + 1) : std::string("Neg");
    const std::string domain = i + 1 < levels ? "local" : "";
    body.Node(next, {"a"}, {"b"}).Domain(domain);
    body.Node(next, {"b"}, {"c"}).Domain(domain);
    model.Function(absl::StrCat("f", i), body);
  }
  return model.Node("f0", {"x"}, {"y"}).Domain("local");
}

TestModel NestedIfs(int levels) {
  TestModel inner;
  inner.Output("y").Node("Neg", {"x"}, {"y"});
  for (int i = 0; i < levels; ++i) {
    TestModel outer;
    outer.Output("y").Node("If", {"c"}, {"y"}).Graph("then_branch", inner);
    inner.proto() = outer.proto();
  }
  return inner.Input("x", {1}).Bytes("c", kBool, {}, {1});
}

// One node each round.
TestModel LoopOf(const std::string& op, int64_t rounds) {
  TestModel body;
  body.TypedInput("i", kInt64, {})
      .TypedInput("go", kBool, {})
      .Input("v", {})
      .Output("go")
      .Output("w");
  if (op == "Concat") {
    body.Node("Concat", {"v", "v"}, {"w"}).Int("axis", 0);
  } else {
    body.Node(op, {"v"}, {"w"});
  }
  TestModel model;
  model.Input("x", {1})
      .Floats("c", {1}, {1})
      .Integers("n", {rounds})
      .Node("Loop", {"n", "", op == "Concat" ? "c" : "x"}, {"y"})
      .Graph("body", body)
      .Output("y");
  return model;
}

// A loop that computes nothing, but has rounds and adds up rows.
TestModel EmptyLoop() {
  TestModel body;
  body.TypedInput("i", kInt64, {})
      .TypedInput("go", kBool, {})
      .Output("go")
      .Output("i");
  TestModel model;
  return model.Input("x", {1})
      .Integers("n", {99'999})
      .Node("Loop", {"n", ""}, {"y"})
      .Graph("body", body)
      .Output("y");
}

struct Hostile {
  const char* name;
  TestModel model;
};

std::vector<Hostile> MuchMemory() {
  std::vector<Hostile> models;
  const auto add = [&models](const char* name, TestModel model) {
    models.push_back({name, std::move(model)});
  };
  const auto zeros = [&add](const char* name, std::vector<int64_t> shape,
                            const std::string& op, int length, int inputs = 1) {
    TestModel model = Zeros(std::move(shape));
    add(name, Chain(model, op, length, inputs));
  };
  zeros("a constant of 2^62 bytes", {int64_t{1} << 31, int64_t{1} << 29}, "Neg",
        1);
  zeros("a constant of 1 GiB", {1 << 14, 1 << 14}, "Neg", 1);
  for (const int side : {512, 700, 1024, 1400, 2048}) {
    for (const char* op : {"Neg", "Transpose", "Softmax", "Size", "Flatten"}) {
      zeros(op, {side, side}, op, 12);
    }
    for (const char* op : {"Add", "MatMul", "Pow", "Concat", "Where"}) {
      zeros(op, {side, side}, op, 12, 2);
    }
    zeros("CumSum", {side, side}, "CumSum", 8, 2);
  }
  zeros("doubled over and over", {64}, "Concat", 24, 2);
  zeros("256-fold each time", {1}, "Concat", 8, 20);
  {
    TestModel model = Zeros({1, 1});
    model.Integers("to", {1 << 12, 1 << 12})
        .Node("Expand", {"t0", "to"}, {"e"})
        .Node("Transpose", {"e"}, {"t"})
        .Node("MatMul", {"e", "t"}, {"m"})
        .Node("Add", {"m", "x"}, {"y"})
        .Output("y");
    add("products of what is expanded", model);
  }
  {
    TestModel model = Zeros({1, 1});
    model.Integers("by", {1 << 11, 1 << 11});
    model.Node("Tile", {"t0", "by"}, {"a"})
        .Node("Tile", {"a", "by"}, {"b"})
        .Node("Add", {"b", "x"}, {"y"})
        .Output("y");
    add("tiled twice", model);
  }
  {
    TestModel model = Zeros({1, 1, 1, 1});
    model.Integers("pads", {0, 0, 1000, 1000, 0, 0, 1000, 1000})
        .Node("Pad", {"t0", "pads"}, {"p"})
        .Node("MaxPool", {"p"}, {"q"})
        .Ints("kernel_shape", {999, 999})
        .Node("LRN", {"q"}, {"l"})
        .Int("size", 999)
        .Node("Add", {"l", "x"}, {"y"})
        .Output("y");
    add("large windows", model);
  }
  {
    TestModel model = Zeros({1, 8, 64, 64});
    model.Integers("w", {512, 8, 5, 5})
        .Node("ConstantOfShape", {"w"}, {"weights"})
        .Node("Conv", {"t0", "weights"}, {"c"})
        .Node("Conv", {"c", "c"}, {"d"})
        .Node("Add", {"c", "x"}, {"y"})
        .Output("y");
    add("a convolution of constants", model);
  }
  {
    TestModel model = Zeros({1, 1, 1, 1});
    model.Floats("by", {4}, {1, 1, 3000, 3000})
        .Node("Resize", {"t0", "", "by"}, {"r"})
        .String("mode", "cubic")
        .Node("Add", {"r", "x"}, {"y"})
        .Output("y");
    add("resized", model);
  }
  {
    TestModel model = Zeros({64, 1, 64});
    model.Integers("ws", {1, 4096, 64})
        .Integers("rs", {1, 4096, 1024})
        .Node("ConstantOfShape", {"ws"}, {"w"})
        .Node("ConstantOfShape", {"rs"}, {"r"})
        .Node("LSTM", {"t0", "w", "r"}, {"y"})
        .Int("hidden_size", 1024)
        .Output("y");
    add("a recurrent layer of zeros", model);
  }
  {
    TestModel model = Zeros({1 << 20});
    model.Integers("k", {1 << 20})
        .Node("TopK", {"t0", "k"}, {"v", "i"})
        .Node("GatherElements", {"v", "i"}, {"g"})
        .Node("Add", {"g", "x"}, {"y"})
        .Output("y");
    add("sorted zeros", model);
  }
  {
    TestModel model = Zeros({64, 64, 64});
    model.Node("Einsum", {"t0", "t0"}, {"e"})
        .String("equation", "abc,def->abcdef")
        .Node("Add", {"e", "x"}, {"y"})
        .Output("y");
    add("a product of all with all", model);
  }
  {
    TestModel model = Zeros({64, 64, 64});
    model.Node("Einsum", {"t0", "t0"}, {"e"})
        .String("equation", "abc,dbc->ad")
        .Node("Einsum", {"t0", "e"}, {"f"})
        .String("equation", "aaa,ad->da")
        .Node("Add", {"f", "x"}, {"y"})
        .Output("y");
    add("sums of products", model);
  }
  {
    TestModel model;
    model.Floats("w", {1 << 30}, {1}).Node("Neg", {"w"}, {"y"}).Output("y");
    add("values that are not there", model);
  }
  {
    TestModel model;
    model.Floats("w", {1 << 20}, {}).Node("Neg", {"w"}, {"y"}).Output("y");
    auto* tensor = model.proto().mutable_graph()->mutable_initializer(0);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value("/dev/zero");
    add("values in another file", model);
  }
  {
    TestModel model;
    model.Bytes("w", onnx::TensorProto::STRING, {1 << 30}, {1})
        .Node("Identity", {"w"}, {"y"})
        .Output("y");
    add("text", model);
  }
  {
    TestModel model;
    model.Input("x", {1 << 13, 1 << 13})
        .Node("Split", {"x"}, {"a", "b"})
        .Int("num_outputs", 1 << 30)
        .Node("Einsum", {"x", "x"}, {"y"})
        .String("equation", "ij,kj->ik")
        .Output("y")
        .Output("a");
    model.proto().mutable_opset_import(0)->set_version(18);
    add("many parts", model);
  }
  add("calls of calls", CallsTwice(15));
  add("as many as there may be", CallsTwice(12));
  add("nested branches", NestedIfs(20));
  add("an endless loop", LoopOf("Neg", INT64_MAX));
  add("as long as it may be", LoopOf("Softplus", 8000));
  add("an endless loop that doubles", LoopOf("Concat", INT64_MAX));
  add("an empty loop", EmptyLoop());
  return models;
}

void ExpectUserError(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(detail->fault, Fault::kUser) << status;
  EXPECT_FALSE(detail->where.empty()) << status;
  EXPECT_FALSE(detail->fix.empty()) << status;
}

TEST(OnnxHostileTest, ASmallFileTakesLittleMemory) {
  constexpr int64_t kMaxBytes = int64_t{64} << 20;
  for (const Hostile& hostile : MuchMemory()) {
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
      ExpectUserError(graph.status());
    }
    EXPECT_LT(peak.bytes(), kMaxBytes);
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
  const Hostile found[] = {
      {"ConvInteger with a number as weights", NumberAsWeights()},
      {"a bias whose scale underflows", ScalesWhoseProductIsZero()},
      {"a constant without values", NothingAsFactor()},
  };
  for (const Hostile& hostile : found) {
    SCOPED_TRACE(hostile.name);
    absl::StatusOr<Graph> graph = ImportOnnx(hostile.model.bytes());
    if (graph.ok()) {
      EXPECT_TRUE(Simplify(*graph).ok());
    } else {
      ExpectUserError(graph.status());
    }
  }
}

TEST(OnnxSeedModelsTest, ReachEveryOperator) {
  std::string seeds;
  for (const std::string& model : onnx_import::SeedModels()) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(model));
    for (const onnx::NodeProto& node : proto.graph().node()) {
      absl::StrAppend(&seeds, " ", node.domain(), ":", node.op_type(), " ");
    }
  }
  for (const absl::string_view domain :
       {absl::string_view(), onnx_import::kMicrosoftDomain}) {
    for (const absl::string_view op :
         absl::StrSplit(onnx_import::OperatorNames(domain), ' ')) {
      EXPECT_TRUE(
          absl::StrContains(seeds, absl::StrCat(" ", domain, ":", op, " ")))
          << domain << ":" << op;
    }
  }
}

// One bit of each byte, another from byte to byte.
TEST(OnnxSeedModelsTest, ImportAndNoFlippedBitCrashes) {
  for (const std::string& model : onnx_import::SeedModels()) {
    const absl::StatusOr<Graph> whole = ImportOnnx(model);
    EXPECT_TRUE(whole.ok()) << whole.status();
    for (size_t at = 0; at < model.size(); ++at) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at * 5 % 8)));
      absl::StatusOr<Graph> graph = ImportOnnx(damaged);
      if (!graph.ok()) continue;
      EXPECT_TRUE(Simplify(*graph).ok()) << at;
    }
  }
}

// What the fuzz target does, few times and always the same.
TEST(OnnxSeedModelsTest, ImportOrAreRefusedWhateverChanges) {
  Rng rng(7);
  int refused = 0;
  int imported = 0;
  for (const std::string& seed : onnx_import::SeedModels()) {
    for (int i = 0; i < 50; ++i) {
      onnx::ModelProto model;
      ASSERT_TRUE(model.ParseFromString(seed));
      for (int64_t changes = rng.InRange(1, 6); changes > 0; --changes) {
        onnx_import::MutateModel(rng, model);
      }
      SCOPED_TRACE(model.DebugString());
      absl::StatusOr<Graph> graph = ImportOnnx(model.SerializeAsString());
      if (!graph.ok()) {
        ExpectUserError(graph.status());
        ++refused;
        continue;
      }
      ++imported;
      const absl::Status simplified = Simplify(*graph);
      EXPECT_TRUE(simplified.ok()) << simplified;
    }
  }
  EXPECT_GT(imported, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace edgekiln::compiler
