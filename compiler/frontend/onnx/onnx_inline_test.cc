// Functions, branches and loops, which the import puts in place.

#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/computed.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

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
  ExpectSays(ErrorOf(model), "deep");
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
  ExpectSays(ErrorOf(model), "functions, branches and loops become");
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
  ExpectSays(message, "'condition' is computed at run time");
  ExpectSays(message, "--bind-input 'condition=FILE'");
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
  ExpectSays(ErrorOf(model), "functions, branches and loops become");
}

// ---- Options ---------------------------------------------------------------

}  // namespace
}  // namespace edgekiln::compiler
