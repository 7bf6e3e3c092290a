#include "compiler/partition/ungroup.h"

#include <string>
#include <vector>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct UngroupCase {
  const char* name;
  const char* graph;
  const char* kind;  // Of the op, after.
};

void PrintTo(const UngroupCase& row, std::ostream* out) { *out << row.name; }

class UngroupTest : public testing::TestWithParam<UngroupCase> {};

TEST_P(UngroupTest, ComputesTheSame) {
  const absl::StatusOr<Graph> graph = ParseGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph ungrouped = *graph;
  UngroupConvolutions(ungrouped);
  EXPECT_EQ(ungrouped.ops[0].kind(), GetParam().kind);
  for (const Op& op : ungrouped.ops) {
    EXPECT_LE(op.attributes.conv2d().groups(), 1);
  }
  for (size_t i = 0; i < graph->tensors.size(); ++i) {
    if (graph->tensors[i].name == "w") continue;
    EXPECT_EQ(ungrouped.tensors[i].name, graph->tensors[i].name) << i;
  }
  const absl::Status verified = VerifyGraph(ungrouped);
  ASSERT_TRUE(verified.ok()) << verified;
  const std::string input("\x05\x80\x7f\x11\x22\xf3\x04\x40", 8);
  const auto want = Evaluate(*graph, {input});
  const auto got = Evaluate(ungrouped, {input});
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, *want);
}

const UngroupCase kCases[] = {
    {"OneChannelPerGroup", R"(
%x : int8[1,1,2,4] scale 0.5 zero 3 = input
%w : int8[8,1,1,1] axis 0 scale [1, 2, 3, 4, 5, 6, 7, 8] zero [0, 0, 0, 0, 0, 0, 0, 0] = constant [1, -2, 3, -4, 5, -6, 7, -8]
%y : int8[1,1,2,8] scale 9 zero 1 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 4} id y
return %y
)",
     "depthwise_conv2d"},
    {"TwoChannelsPerGroup", R"(
%x : int8[1,1,2,4] scale 0.5 zero 3 = input
%w : int8[4,1,1,2] scale 0.25 zero 7 = constant [1, -2, 3, -4, 5, -6, 7, -8]
%b : int32[4] = constant [100, -200, 300, 0]
%y : int8[1,1,2,4] scale 3 zero 1 = conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0} groups 2} id y
return %y
)",
     "conv2d"},
    {"RoundsHalfToEven", R"(
%x : int8[1,1,2,4] scale 0.5 zero 3 = input
%w : int8[4,1,1,2] scale 0.25 zero 0 = constant [1, 0, 1, 1, 0, 1, -1, 0]
%y : int8[1,1,2,4] scale 0.25 zero 1 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2 rounding HALF_EVEN} id y
return %y
)",
     "conv2d"},
    {"TwoWithTheSameWeights", R"(
%x : int8[1,1,2,4] scale 0.5 zero 3 = input
%w : int8[4,1,1,2] scale 0.25 zero 7 = constant [1, -2, 3, -4, 5, -6, 7, -8]
%b : int32[4] = constant [100, -200, 300, 0]
%c : int8[1,1,2,4] scale 3 zero 1 = conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id c
%y : int8[1,1,2,4] scale 3 zero 1 = conv2d(%c, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id y
return %y
)",
     "conv2d"},
};

INSTANTIATE_TEST_SUITE_P(All, UngroupTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
