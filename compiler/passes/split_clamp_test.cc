#include "compiler/passes/split_clamp.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph Parse(const std::string& text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

TEST(SplitClampTest, PutsAClipBehindTheOp) {
  Graph graph = Parse(R"(
%x : int8[1,1,2,1] scale 0.5 zero -4 = input
%w : int8[2,1,1,1] scale 0.25 zero 0 = constant [3, -5]
%y : int8[1,1,2,2] scale 0.0625 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0 max 6} rounding FLOOR} id c name "first"
%z : int8[1,1,2,2] scale 0.0625 zero 0 = add(%y, %y) {clamp {min -1 max 6}} id z
return %y, %z
)");
  const std::string whole = PrintGraph(graph);
  const absl::Status status = SplitClamps(graph, {1, 0});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  EXPECT_EQ(PrintGraph(graph), R"(%x : int8[1,1,2,1] scale 0.5 zero -4 = input
%w : int8[2,1,1,1] scale 0.25 zero 0 = constant [3, -5]
%y.unclipped : int8[1,1,2,2] scale 0.0625 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0} rounding FLOOR} id c name "first"
%y : int8[1,1,2,2] scale 0.0625 zero 0 = clip(%y.unclipped) {clamp {min 0 max 6}} id c.clip name "first"
%z.unclipped : int8[1,1,2,2] scale 0.0625 zero 0 = add(%y, %y) {clamp {}} id z
%z : int8[1,1,2,2] scale 0.0625 zero 0 = clip(%z.unclipped) {clamp {min -1 max 6}} id z.clip
return %y, %z
)");
  EXPECT_TRUE(AreClampHalves(graph, graph.ops[0], graph.ops[1]));
  EXPECT_FALSE(AreClampHalves(graph, graph.ops[0], graph.ops[3]));
  EXPECT_EQ(JoinClamps(graph), (std::vector<bool>{true, true}));
  EXPECT_EQ(PrintGraph(graph), whole);
}

// Nothing for limits that every engine has, and where none can be split off.
TEST(SplitClampTest, LeavesOtherOpsWhole) {
  const char* const kOps[] = {
      "int8[4] scale 0.1 zero 3 = add(%x, %x)",
      "int8[4] scale 0.1 zero 3 = add(%x, %x) {clamp {min 0}}",
      "int8[4] scale 0.1 zero 3 = add(%x, %x) {clamp {min -90}}",
      "int8[4] scale 0.1 zero 3 = add(%x, %x) {clamp {min 0 max 90}}",
      "int8[4] scale 0.5 zero 3 = clip(%x) {clamp {min 0 max 6}}",
      "float32[4] = add(%f, %f) {clamp {min 0 max 6}}"};
  for (const char* const op : kOps) {
    Graph graph = Parse(absl::StrCat(
        "%x : int8[4] scale 0.5 zero 3 = input %f : float32[4] = input\n%y : ",
        op, " id y\nreturn %y\n"));
    const std::string whole = PrintGraph(graph);
    EXPECT_FALSE(WithPlainClamp(graph, graph.ops[0]).has_value()) << op;
    EXPECT_FALSE(SplitClamps(graph, {0}).ok()) << op;
    EXPECT_EQ(PrintGraph(graph), whole);
  }
}

// All sums of two values, with limits on either side of the zero point.
TEST(SplitClampTest, EveryValueStaysTheSame) {
  const char* const kClamps[] = {"min 0 max 6",  "max 6",         "min 1 max 5",
                                 "min -1 max 1", "min -9 max 90", "min 0.4",
                                 "max -1",       "min -3 max -2", "min 90"};
  const char* const kRoundings[] = {"", " rounding FLOOR",
                                    " rounding HALF_EVEN"};
  for (const char* const clamp : kClamps) {
    for (const char* const rounding : kRoundings) {
      SCOPED_TRACE(testing::Message() << clamp << rounding);
      const Graph graph = Parse(
          absl::StrReplaceAll(R"(
%x : int8[256] scale 0.1 zero 3 = input
%y : int8[256] scale 0.0833 zero -7 = add(%x, %x) {clamp {CLAMP}ROUNDING} id y
return %y
)",
                              {{"CLAMP", clamp}, {"ROUNDING", rounding}}));
      Graph split = graph;
      ASSERT_TRUE(SplitClamps(split, {0}).ok());
      ASSERT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
      EXPECT_EQ(split.ops.size(), 2u);
      std::string sample;
      for (int i = -128; i < 128; ++i) sample += static_cast<char>(i);
      const auto want = Evaluate(graph, {sample});
      const auto got = Evaluate(split, {sample});
      ASSERT_TRUE(want.ok()) << want.status();
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(*got, *want);
      JoinClamps(split);
      EXPECT_EQ(PrintGraph(split), PrintGraph(graph));
    }
  }
}

// A model may have such a pair of its own, whose tensor taps know by its id.
TEST(SplitClampTest, JoinsNoPairOfTheModel) {
  Graph graph = Parse(R"(
%x : int8[4] scale 0.5 zero 0 = input
%y : int8[4] scale 0.5 zero 0 = add(%x, %x) {clamp {min 0}} id y
%z : int8[4] scale 0.5 zero 0 = clip(%y) {clamp {min 0 max 6}} id y.clip
return %z
)");
  std::swap(graph.tensors[1], graph.tensors[2]);
  for (Op& op : graph.ops) {
    for (auto* ids : {&op.inputs, &op.outputs}) {
      for (TensorId& id : *ids) id = id == 0 ? 0 : 3 - id;
    }
  }
  graph.outputs = {1};
  ASSERT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  EXPECT_FALSE(AreClampHalves(graph, graph.ops[0], graph.ops[1]));
  EXPECT_EQ(JoinClamps(graph), (std::vector<bool>{false, false}));
  // With the name of a split it is one.
  graph.tensors[2].name = "z.unclipped";
  EXPECT_TRUE(AreClampHalves(graph, graph.ops[0], graph.ops[1]));
  EXPECT_EQ(JoinClamps(graph), (std::vector<bool>{true}));
}

}  // namespace
}  // namespace edgekiln::compiler
