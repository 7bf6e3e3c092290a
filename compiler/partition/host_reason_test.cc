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
    {"IntegersScaledAtRunTime",
     R"(
%x : float32[1,2] = input
%scale : float32[] = input
%z : int32[] = constant [3]
%zero : float32[] = constant [3]
%w : int32[2,1] = constant [1, 2]
%d : float32[1,2] = binary(%x, %scale) {function DIV} id d
%r : float32[1,2] = unary(%d) {function ROUND} id r
%a : float32[1,2] = add(%r, %zero) id a
%l : float32[1,2] = clip(%a) {clamp {min 0 max 255}} id l
%i : uint8[1,2] = cast(%l) id i
%c : int32[1,2] = cast(%i) id c
%s : int32[1,2] = binary(%c, %z) {function SUB} id s
%y : int32[1,1] = mat_mul(%s, %w) id y
return %y
)",
     "y",
     "its integers are scaled at run time; give the float model with "
     "--calibration, or one quantized by fixed scales"},
    {"IntegersTimesAReciprocal",
     R"(
%x : float32[1,2] = input
%inverse : float32[] = input
%w : int32[2,1] = constant [1, 2]
%m : float32[1,2] = mul(%inverse, %x) id m
%i : int32[1,2] = cast(%m) id i
%y : int32[1,1] = mat_mul(%i, %w) id y
return %y
)",
     "y",
     "its integers are scaled at run time; give the float model with "
     "--calibration, or one quantized by fixed scales"},
    {"ScaledValuesOfOtherFloats",
     R"(
%x : float32[1,2] = input
%scale : float32[] = input
%w : float64[2,1] = constant [1, 2]
%d : float32[1,2] = binary(%x, %scale) {function DIV} id d
%c : float64[1,2] = cast(%d) id c
%y : float64[1,1] = mat_mul(%c, %w) id y
return %y
)",
     "y", ""},
    {"IntegersWithoutAScale",
     R"(
%x : float32[1,2] = input
%w : int32[2,1] = constant [1, 2]
%i : int32[1,2] = cast(%x) id i
%y : int32[1,1] = mat_mul(%i, %w) id y
return %y
)",
     "y", ""},
    {"IntegersOfAFixedScale",
     R"(
%x : float32[1,2] = input
%scale : float32[] = constant [0.5]
%w : int32[2,1] = constant [1, 2]
%d : float32[1,2] = binary(%x, %scale) {function DIV} id d
%i : int32[1,2] = cast(%d) id i
%y : int32[1,1] = mat_mul(%i, %w) id y
return %y
)",
     "y", ""},
    {"IntegersOfAnInput",
     R"(
%x : int32[1,2] = input
%w : int32[2,1] = constant [1, 2]
%y : int32[1,1] = mat_mul(%x, %w) id y
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

// Walks back from each product would be 900 million steps.
TEST(HostReasonsTest, ManyProductsOfOneLongChainTakeNoLonger) {
  constexpr int32_t kOps = 30'000;
  Graph graph;
  const auto add_tensor = [&](v1::ElementType type) {
    Tensor tensor;
    tensor.type = type;
    graph.tensors.push_back(tensor);
    return static_cast<TensorId>(graph.tensors.size() - 1);
  };
  const auto add_op = [&](const Op& made) { graph.ops.push_back(made); };
  const TensorId x = add_tensor(v1::FLOAT32);
  const TensorId scale = add_tensor(v1::FLOAT32);
  const TensorId zero = add_tensor(v1::INT32);
  graph.inputs = {x, scale, zero};
  Op divide;
  divide.attributes.mutable_binary()->set_function(v1::Binary::DIV);
  divide.inputs = {x, scale};
  divide.outputs = {add_tensor(v1::FLOAT32)};
  add_op(divide);
  Op cast;
  cast.attributes.mutable_cast();
  cast.inputs = {divide.outputs[0]};
  cast.outputs = {add_tensor(v1::INT32)};
  add_op(cast);
  TensorId last = cast.outputs[0];
  for (int32_t i = 0; i < kOps; ++i) {
    Op subtract;
    subtract.attributes.mutable_binary()->set_function(v1::Binary::SUB);
    subtract.inputs = {last, zero};
    last = add_tensor(v1::INT32);
    subtract.outputs = {last};
    add_op(subtract);
  }
  Op product;
  product.attributes.mutable_mat_mul();
  product.inputs = {last, zero};
  for (int32_t i = 0; i < kOps; ++i) {
    product.outputs = {add_tensor(v1::INT32)};
    add_op(product);
  }
  const HostReasons reasons(graph);
  int32_t with_reason = 0;
  for (const Op& op : graph.ops) with_reason += !reasons.For(op).empty();
  EXPECT_EQ(with_reason, kOps);
}

INSTANTIATE_TEST_SUITE_P(All, HostReasonTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
