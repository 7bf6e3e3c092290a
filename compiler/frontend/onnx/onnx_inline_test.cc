// Functions, branches and loops, which the import puts in place; and what
// options fix: dimensions, inputs, external data.

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/test_model.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

absl::string_view AsBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

// The first output of a model with one float input or none.
std::vector<float> Computed(TestModel& model, const std::vector<float>& x,
                            const ImportOptions& options = {}) {
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes(), options);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  std::vector<absl::string_view> inputs;
  if (!graph->inputs.empty()) inputs.push_back(AsBytes(x));
  const auto outputs = Evaluate(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  std::vector<float> y((*outputs)[0].size() / sizeof(float));
  std::memcpy(y.data(), (*outputs)[0].data(), (*outputs)[0].size());
  return y;
}

std::string ErrorOf(TestModel& model, const ImportOptions& options = {}) {
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes(), options);
  EXPECT_FALSE(graph.ok());
  if (graph.ok()) return "";
  const auto detail = GetErrorDetail(graph.status());
  EXPECT_TRUE(detail.has_value() && !detail->where.empty() &&
              !detail->fix.empty())
      << graph.status();
  return std::string(graph.status().message());
}

#define EXPECT_SAYS(message, part) \
  EXPECT_NE((message).find(part), std::string::npos) << (message)

// y = LeakyRelu(a) + b, the slope an attribute of the call; b may be absent.
TestModel LeakySum() {
  TestModel body;
  body.Input("a", {}).Output("sum").Node("LeakyRelu", {"a"}, {"sum"});
  onnx::AttributeProto* slope =
      body.proto().mutable_graph()->mutable_node(0)->add_attribute();
  slope->set_name("alpha");
  slope->set_type(onnx::AttributeProto::FLOAT);
  slope->set_ref_attr_name("slope");
  return body;
}

TEST(OnnxFunctionTest, IsPutInPlaceWithTheAttributesOfTheCall) {
  TestModel body = LeakySum();
  TestModel model;
  model.Input("x", {2})
      .Output("y")
      .Function("Leaky", body)
      .Node("Leaky", {"x"}, {"sum"})
      .Domain("local")
      .Float("slope", 0.5f)
      .Node("Leaky", {"sum"}, {"y"})
      .Domain("local")
      .Float("slope", 0.25f);
  EXPECT_EQ(Computed(model, {-8, 3}), (std::vector<float>{-1, 3}));
}

TEST(OnnxFunctionTest, AnAbsentAttributeIsTheOperatorsDefault) {
  TestModel body = LeakySum();
  TestModel model;
  model.Input("x", {1})
      .Output("y")
      .Function("Leaky", body)
      .Node("Leaky", {"x"}, {"y"})
      .Domain("local");
  EXPECT_EQ(Computed(model, {-100}), (std::vector<float>{-1}));
}

// Nodes of a function are copied for each call: what is read of the copy must
// not be needed when it is gone.
TEST(OnnxFunctionTest, ValuesOfABranchInsideOutliveTheCall) {
  const std::vector<float> values(64, 3);
  TestModel branch;
  branch.Output("sum").Node("Add", {"a", "w"}, {"sum"});
  onnx::TensorProto* w = branch.proto().mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(64);
  w->set_raw_data(std::string(AsBytes(values)));
  TestModel body;
  body.Input("a", {})
      .TypedInput("c", onnx::TensorProto::BOOL, {})
      .Output("b")
      .Node("If", {"c"}, {"b"})
      .Graph("then_branch", branch)
      .Graph("else_branch", branch);
  TestModel model;
  model.Input("x", {64})
      .Output("y")
      .Bytes("yes", onnx::TensorProto::BOOL, {}, {1})
      .Function("Branches", body)
      .Node("Branches", {"x", "yes"}, {"y"})
      .Domain("local");
  EXPECT_EQ(Computed(model, std::vector<float>(64, 1)),
            std::vector<float>(64, 4));
}

TEST(OnnxFunctionTest, RecursionEnds) {
  TestModel body;
  body.Input("a", {}).Output("b").Node("Self", {"a"}, {"b"}).Domain("local");
  TestModel model;
  model.Input("x", {1})
      .Output("y")
      .Function("Self", body)
      .Node("Self", {"x"}, {"y"})
      .Domain("local");
  EXPECT_SAYS(ErrorOf(model), "deep");
}

// Doubles at each level: 2^30 nodes from thirty functions.
TEST(OnnxFunctionTest, GrowthIsBounded) {
  TestModel model;
  model.Input("x", {1}).Output("y");
  for (int level = 0; level < 15; ++level) {
    TestModel body;
    const std::string inner =
        level == 0 ? "Relu" : "F" + std::to_string(level - 1);
    body.Input("a", {}).Output("c");
    std::string from = "a";
    for (int i = 0; i < 8; ++i) {
      const std::string to = i == 7 ? "c" : "b" + std::to_string(i);
      body.Node(inner, {from}, {to});
      if (level > 0) body.Domain("local");
      from = to;
    }
    model.Function("F" + std::to_string(level), body);
  }
  model.Node("F14", {"x"}, {"y"}).Domain("local");
  EXPECT_SAYS(ErrorOf(model), "functions, branches and loops become");
}

TestModel Branches() {
  TestModel then_branch;
  then_branch.Output("t").Node("Neg", {"x"}, {"t"});
  TestModel else_branch;
  else_branch.Output("e").Node("Abs", {"x"}, {"e"});
  TestModel model;
  model.Input("x", {2}).Output("y").Node("If", {"condition"}, {"y"});
  model.Graph("then_branch", then_branch).Graph("else_branch", else_branch);
  return model;
}

TEST(OnnxIfTest, AConstantConditionPicksTheBranch) {
  for (const int condition : {0, 1}) {
    TestModel model = Branches();
    model.Bytes("condition", onnx::TensorProto::BOOL, {}, {condition});
    EXPECT_EQ(Computed(model, {-1, 2}), condition == 0
                                            ? (std::vector<float>{1, 2})
                                            : (std::vector<float>{1, -2}));
  }
}

TEST(OnnxIfTest, ARunTimeConditionIsRefusedByName) {
  TestModel model = Branches();
  model.TypedInput("condition", onnx::TensorProto::BOOL, {});
  const std::string message = ErrorOf(model);
  EXPECT_SAYS(message, "'condition' is computed at run time");
  EXPECT_SAYS(message, "--bind-input 'condition=FILE'");
}

// Carries y = y * 2 and collects what it was before, `rounds` times.
TestModel Doubling(int64_t rounds) {
  TestModel body;
  body.TypedInput("i", onnx::TensorProto::INT64, {})
      .TypedInput("go", onnx::TensorProto::BOOL, {})
      .Input("v", {1})
      .Output("go")
      .Output("twice")
      .Output("before")
      .Node("Add", {"v", "v"}, {"twice"})
      .Node("Identity", {"v"}, {"before"});
  TestModel model;
  model.Input("x", {1}).Integers("rounds", {rounds});
  model.Node("Loop", {"rounds", "", "x"}, {"last", "all"}).Graph("body", body);
  return model;
}

TEST(OnnxLoopTest, IsUnrolled) {
  TestModel model = Doubling(3);
  model.Output("all");
  EXPECT_EQ(Computed(model, {5}), (std::vector<float>{5, 10, 20}));
  TestModel last = Doubling(3);
  last.Output("last");
  EXPECT_EQ(Computed(last, {5}), (std::vector<float>{40}));
}

TEST(OnnxLoopTest, EndsWhereItsConditionSays) {
  TestModel body;
  body.TypedInput("i", onnx::TensorProto::INT64, {})
      .TypedInput("go", onnx::TensorProto::BOOL, {})
      .Input("v", {1})
      .Integers("two", {2})
      .Output("more")
      .Output("next")
      .Node("Less", {"i", "two"}, {"more"})
      .Node("Add", {"v", "v"}, {"next"});
  TestModel model;
  model.Input("x", {1}).Output("y").Node("Loop", {"", "", "x"}, {"y"});
  model.Graph("body", body);
  EXPECT_EQ(Computed(model, {1}), (std::vector<float>{8}));
}

TEST(OnnxLoopTest, TooManyRoundsAreRefused) {
  TestModel model = Doubling(int64_t{1} << 60);
  model.Output("last");
  EXPECT_SAYS(ErrorOf(model), "functions, branches and loops become");
}

// ---- Options ---------------------------------------------------------------

TestModel Symbolic() {
  TestModel model;
  model.Input("x", {2, -1}).Output("y").Node("Relu", {"x"}, {"y"});
  return model;
}

TEST(OnnxBindTest, ADimensionIsBoundByItsSymbol) {
  TestModel model = Symbolic();
  EXPECT_EQ(Computed(model, {-1, 2, -3, 4}, {.binds = {{"N", 2}}}),
            (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(Computed(model, {-1, 2}, {.binds = {{"x:1", 1}}}),
            (std::vector<float>{0, 2}));
}

TEST(OnnxBindTest, WhatStaysOpenIsNamed) {
  TestModel model = Symbolic();
  const std::string message = ErrorOf(model);
  EXPECT_SAYS(message, "dimension 1 ('N')");
  EXPECT_SAYS(message, "--bind 'N=EXTENT'");
  EXPECT_SAYS(ErrorOf(model, {.binds = {{"N", 0}}}), "bound to 0");
}

TEST(OnnxBindTest, WhatBindsNothingIsRefused) {
  TestModel model = Symbolic();
  // A fixed dimension, an input that is not there, a name that is not.
  for (const char* name : {"x:0", "y:1", "M"}) {
    const std::string message =
        ErrorOf(model, {.binds = {{"N", 2}, {name, 2}}});
    EXPECT_SAYS(message, absl::StrCat("no graph input has an open dimension '",
                                      name, "'"));
    EXPECT_SAYS(message, "one of 'N'");
  }
  TestModel fixed;
  fixed.Input("x", {2}).Output("y").Node("Relu", {"x"}, {"y"});
  EXPECT_SAYS(ErrorOf(fixed, {.binds = {{"N", 2}}}), "is fixed");
}

std::string IntegersFile(std::vector<int64_t> values) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::INT64);
  proto.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) proto.add_int64_data(value);
  return proto.SerializeAsString();
}

TestModel Reshaping() {
  TestModel model;
  model.Input("x", {4})
      .TypedInput("shape", onnx::TensorProto::INT64, {2})
      .Output("y")
      .Node("Reshape", {"x", "shape"}, {"r"})
      .Node("Transpose", {"r"}, {"y"});
  return model;
}

TEST(OnnxBindInputTest, ABoundInputIsAConstant) {
  TestModel model = Reshaping();
  const std::string file = IntegersFile({2, 2});
  EXPECT_EQ(Computed(model, {1, 2, 3, 4}, {.bound_inputs = {{"shape", file}}}),
            (std::vector<float>{1, 3, 2, 4}));
}

TEST(OnnxBindInputTest, NumpyFilesAreRead) {
  TestModel model = Reshaping();
  const std::string header =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  std::string file = "\x93NUMPY\x01";
  file.push_back('\0');
  file.push_back(static_cast<char>(header.size() + 1));
  file.push_back('\0');
  file += header + "\n";
  for (const int64_t value : {1, 4}) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  EXPECT_EQ(Computed(model, {1, 2, 3, 4}, {.bound_inputs = {{"shape", file}}}),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST(OnnxBindInputTest, ABindingMustFit) {
  TestModel model = Reshaping();
  const std::string three = IntegersFile({1, 2, 2});
  const std::string good = IntegersFile({2, 2});
  EXPECT_SAYS(ErrorOf(model, {.bound_inputs = {{"shape", three}}}),
              "not what the model declares");
  EXPECT_SAYS(ErrorOf(model, {.bound_inputs = {{"shape", three}}}), "INT64[2]");
  EXPECT_SAYS(ErrorOf(model, {.bound_inputs = {{"shape", "\xff\xff"}}}),
              "neither an .npy file nor");
  EXPECT_SAYS(
      ErrorOf(model, {.bound_inputs = {{"shape", good}, {"ghost", good}}}),
      "no such input");
  EXPECT_SAYS(ErrorOf(model, {.bound_inputs = {{"ghost", good}}}),
              "one of 'x', 'shape'");
}

// w = [1, 2] at byte 4 of weights.bin.
TestModel External(const std::string& offset, const std::string& length) {
  TestModel model;
  model.Input("x", {2}).Floats("w", {2}, {}).Output("y");
  model.Node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto* w = model.proto().mutable_graph()->mutable_initializer(0);
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto set = [w](const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto* entry = w->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  set("location", "weights.bin");
  set("offset", offset);
  set("length", length);
  return model;
}

TEST(OnnxExternalDataTest, IsReadFromTheFilesThatCame) {
  const std::vector<float> file = {9, 1, 2};
  TestModel model = External("4", "8");
  const ImportOptions options = {
      .external_files = {{"weights.bin", AsBytes(file)}}};
  EXPECT_EQ(Computed(model, {10, 20}, options), (std::vector<float>{11, 22}));
  EXPECT_SAYS(ErrorOf(model), "'weights.bin', which did not come");
}

// Not passed over in silence, as --bind and --bind-input are not.
TEST(OnnxExternalDataTest, AFileThatNoTensorNamesIsRefused) {
  const std::vector<float> file = {9, 1, 2};
  TestModel model = External("4", "8");
  const std::string message =
      ErrorOf(model, {.external_files = {{"weights.bin", AsBytes(file)},
                                         {"weight.bin", AsBytes(file)}}});
  EXPECT_SAYS(message,
              "no tensor of the model has its values in the file "
              "'weight.bin'");
  EXPECT_SAYS(message, "one of 'weights.bin'");
  TestModel whole;
  whole.Input("x", {1}).Output("y").Node("Neg", {"x"}, {"y"});
  EXPECT_SAYS(ErrorOf(whole, {.external_files = {{"w", AsBytes(file)}}}),
              "the model holds all of its values");
}

TEST(OnnxExternalDataTest, AFileOfABranchThatIsNotTakenIsNamed) {
  const std::vector<float> file = {9, 1, 2};
  TestModel other = External("4", "8");
  TestModel taken;
  taken.Output("y").Node("Neg", {"x"}, {"y"});
  TestModel model;
  model.Input("x", {1}).Output("y").Bytes("no", onnx::TensorProto::BOOL, {},
                                          {0});
  model.Node("If", {"no"}, {"y"})
      .Graph("then_branch", other)
      .Graph("else_branch", taken);
  EXPECT_EQ(Computed(model, {3},
                     {.external_files = {{"weights.bin", AsBytes(file)}}}),
            (std::vector<float>{-3}));
}

// A thousand tensors of one file: the same range costs nothing more, ranges of
// their own are refused.
TEST(OnnxExternalDataTest, WhatIsNamedAgainIsBounded) {
  const std::vector<float> file(1 << 10, 1.0f);
  for (const bool shifted : {false, true}) {
    TestModel model;
    model.Input("x", {1}).Output("y").Node("Neg", {"x"}, {"y"});
    for (int i = 0; i < 1000; ++i) {
      const std::string offset = std::to_string(shifted ? i : 0);
      TestModel one = External(offset, "8");
      auto* tensor = model.proto().mutable_graph()->add_initializer();
      *tensor = one.proto().graph().initializer(0);
      tensor->set_name("w" + std::to_string(i));
    }
    const ImportOptions options = {
        .external_files = {{"weights.bin", AsBytes(file).substr(0, 2048)}}};
    if (shifted) {
      EXPECT_SAYS(ErrorOf(model, options), "over and over");
    } else {
      EXPECT_EQ(Computed(model, {3}, options), (std::vector<float>{-3}));
    }
  }
}

TEST(OnnxExternalDataTest, OffsetsAndLengthsAreChecked) {
  const std::vector<float> file = {9, 1, 2};
  const ImportOptions options = {
      .external_files = {{"weights.bin", AsBytes(file)}}};
  for (const auto& [offset, length] :
       {std::pair("5", "8"), std::pair("4", "4"), std::pair("-4", "8"),
        std::pair("9223372036854775807", "8"), std::pair("x", "8")}) {
    TestModel model = External(offset, length);
    EXPECT_SAYS(ErrorOf(model, options), "tensor 'w'");
  }
}

}  // namespace
}  // namespace edgekiln::compiler
