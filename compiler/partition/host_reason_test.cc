#include "compiler/partition/host_reason.h"

#include <string>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct ReasonCase {
  const char* name;
  const char* graph;
  const char* op;
  const char* reason;
};

const ReasonCase kCases[] = {
    {"InputLayout",
     R"(
%x : int8[1,2,3,1] scale 1 zero 0 = input
%r : int8[1,2,3,1] scale 1 zero 0 = reshape(%x) id r
%t : int8[1,3,1,2] scale 1 zero 0 = transpose(%r) {permutation [0, 2, 3, 1]} id t
%y : int8[1,3,1,2] scale 1 zero 0 = clip(%t) id y
return %y
)",
     "t", "the model's input is NCHW, engines read NHWC (x)"},
    {"OutputLayout",
     R"(
%x : int8[1,3,1,2] scale 1 zero 0 = input
%c : int8[1,3,1,2] scale 1 zero 0 = clip(%x) id c
%t : int8[1,2,3,1] scale 1 zero 0 = transpose(%c) {permutation [0, 3, 1, 2]} id t
%y : int8[2,3] scale 1 zero 0 = reshape(%t) id y
return %y
)",
     "t", "the model's output is NCHW, engines write NHWC (y)"},
    {"LayoutsOfFloatPorts",
     R"(
%x : float32[1,2,3,1] = input
%q : int8[1,2,3,1] scale 1 zero 0 = quantize(%x) id q
%t : int8[1,3,1,2] scale 1 zero 0 = transpose(%q) {permutation [0, 2, 3, 1]} id t
%y : int8[1,3,1,2] scale 1 zero 0 = clip(%t) id y
return %y
)",
     "t", "the model's input is NCHW, engines read NHWC (x)"},
    {"AnotherOrder",
     R"(
%x : int8[2,3] scale 1 zero 0 = input
%t : int8[3,2] scale 1 zero 0 = transpose(%x) {permutation [1, 0]} id t
return %t
)",
     "t", "the model's input is in another order than engines read (x)"},
    {"SumsOfALayer",
     R"(
%x : int8[1,2] scale 1 zero 0 = input
%w : int8[1,2] scale 0.5 zero 0 = constant [1, 2]
%s : int32[1,1] scale 0.5 zero 0 = fully_connected(%x, %w) id f
%y : int8[1,1] scale 2 zero 0 = requantize(%s) {multiplier [1073741824] shift [-1]} id y
return %y
)",
     "y", "scales the int32 sums of a layer (f)"},
    {"LimitsOfALayer",
     R"(
%x : int8[1,2] scale 1 zero 0 = input
%y.unclipped : int8[1,2] scale 1 zero 0 = add(%x, %x) {clamp {min 0}} id f
%y : int8[1,2] scale 1 zero 0 = clip(%y.unclipped) {clamp {min 0 max 6}} id y
return %y
)",
     "y", "limits the results of a layer (f)"},
    {"ClipOfItsOwn",
     R"(
%x : int8[1,2] scale 1 zero 0 = input
%a : int8[1,2] scale 1 zero 0 = add(%x, %x) {clamp {min 0}} id f
%y : int8[1,2] scale 1 zero 0 = clip(%a) {clamp {min 0 max 6}} id y
return %y
)",
     "y", ""},
    {"TransposeOfItsOwn",
     R"(
%x : int8[2,3] scale 1 zero 0 = input
%c : int8[2,3] scale 1 zero 0 = clip(%x) id c
%t : int8[3,2] scale 1 zero 0 = transpose(%c) {permutation [1, 0]} id t
%y : int8[3,2] scale 1 zero 0 = clip(%t) id y
return %y
)",
     "t", ""},
    {"InputThatAFloatLayerReads",
     R"(
%x : float32[2] = input
%q : int8[2] scale 1 zero 0 = quantize(%x) id q
%s : float32[2] = softmax(%x) {beta 1} id s
return %q, %s
)",
     "q", "the input stays float32: a layer reads its real values (s)"},
    {"InputBehindMoves",
     R"(
%x : float32[2] = input
%r : float32[1,2] = reshape(%x) id r
%q : int8[1,2] scale 1 zero 0 = quantize(%r) id q
%s : float32[2] = softmax(%x) {beta 1} id s
return %q, %s
)",
     "q", "the input stays float32: a layer reads its real values (s)"},
    {"InputOfSeveralRoundings",
     R"(
%x : float32[2] = input
%q : int8[2] scale 1 zero 0 = quantize(%x) id q
%p : int8[2] scale 2 zero 0 = quantize(%x) id p
return %q, %p
)",
     "q", "the input stays float32: layers round it in several ways (x)"},
    {"InputThatTheHostConverts",
     R"(
%x : float32[2] = input
%q : int8[2] scale 1 zero 0 = quantize(%x) id q
return %q
)",
     "q", "converts the model's input (x)"},
    {"ForAFloatLayer",
     R"(
%x : int8[2] scale 1 zero 0 = input
%d : float32[2] = dequantize(%x) id d
%s : float32[2] = softmax(%d) {beta 1} id s
%q : int8[2] scale 1 zero 0 = quantize(%s) id q
return %q
)",
     "d", "converts for a layer that computes real values (s)"},
    {"FromAFloatLayer",
     R"(
%x : float32[2] = input
%s : float32[2] = softmax(%x) {beta 1} id s
%q : int8[2] scale 1 zero 0 = quantize(%s) id q
return %q
)",
     "q", "converts what a layer computes as real values (s)"},
    {"OutputThatTheHostConverts",
     R"(
%x : int8[2] scale 1 zero 0 = input
%d : float32[2] = dequantize(%x) id d
return %d
)",
     "d", "converts the model's output (d)"},
    {"OtherOps",
     "%x : float32[2] = input %s : float32[2] = softmax(%x) {beta 1} id s "
     "return %s",
     "s", ""},
};

class HostReasonTest : public testing::TestWithParam<ReasonCase> {};

TEST_P(HostReasonTest, Says) {
  const auto graph = ParseGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const HostReasons reasons(*graph);
  for (const Op& op : graph->ops) {
    if (op.id == GetParam().op) {
      EXPECT_EQ(reasons.For(op), GetParam().reason);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostReasonTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
