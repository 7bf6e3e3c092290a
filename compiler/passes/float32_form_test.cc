#include "compiler/passes/float32_form.h"

#include <ostream>
#include <string>

#include "compiler/ir/text.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kFloat32FormCases[] = {
    // 0x3c00 is 1, 0x4200 is 3; the clip finds its way into the convolution,
    // which it does not in float16.
    {"Float16",
     R"(
%x : float16[1,1,1,1] = input
%w : float16[1,1,1,1] = constant 0x0042
%c : float16[1,1,1,1] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : float16[1,1,1,1] = clip(%c) {clamp {min 0}} id y
return %y
)",
     R"(
%x : float16[1,1,1,1] = input
%w : float32[1,1,1,1] = constant [3]
%x.float32 : float32[1,1,1,1] = cast(%x) id cast_x
%y.float32 : float32[1,1,1,1] = conv2d(%x.float32, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id c
%y : float16[1,1,1,1] = cast(%y.float32) id cast_y
return %y
)"},
    // Casts to and from float32 are none any more. Infinities of constants are
    // kept, finite values stay finite: the first is -1e300, then minus
    // infinity.
    {"MixedFloatsAndWideConstants",
     R"(
%x : float32[2] = input
%m : float64[2] = constant 0x9c7500883ce437fe000000000000f0ff
%d : float64[2] = cast(%x) id d
%s : float64[2] = add(%d, %m) id s
%y : float32[2] = cast(%s) id y
return %y
)",
     R"(
%x : float32[2] = input
%m : float32[2] = constant [-3.4028234663852886e+38, -inf]
%y : float32[2] = add(%x, %m) id s
return %y
)"},
    // One cast per port, whatever reads it.
    {"PortsOfSeveralUses",
     R"(
%x : float16[2] = input
%i : int32[2] = input
%f : float16[2] = cast(%i) id f
%a : float16[2] = add(%x, %f) id a
%b : float16[2] = mul(%a, %x) id b
return %a, %x, %b, %a
)",
     R"(
%x : float16[2] = input
%i : int32[2] = input
%x.float32 : float32[2] = cast(%x) id cast_x
%f : float32[2] = cast(%i) id f
%a.float32 : float32[2] = add(%x.float32, %f) id a
%b.float32 : float32[2] = mul(%a.float32, %x.float32) id b
%a : float16[2] = cast(%a.float32) id cast_a
%b : float16[2] = cast(%b.float32) id cast_b
return %a, %x, %b, %a
)"},
    // A model that is quantized already: its ops find into the integers, which
    // read and make float16 themselves.
    {"PairsOfQuantize",
     R"(
%x : float16[2] = input
%q : int8[2] scale 0.25 zero 3 = quantize(%x) {rounding HALF_EVEN} id q
%d : float16[2] = dequantize(%q) id d
%s : float16[2] = add(%d, %d) id s
%t : int8[2] scale 0.5 zero 0 = quantize(%s) {rounding HALF_EVEN} id t
%y : float16[2] = dequantize(%t) id y
return %y
)",
     R"(
%x : float16[2] = input
%q : int8[2] scale 0.25 zero 3 = quantize(%x) {rounding HALF_EVEN} id q
%t : int8[2] scale 0.5 zero 0 = add(%q, %q) {rounding HALF_EVEN} id s
%y : float16[2] = dequantize(%t) id cast_y
return %y
)"},
};

class Float32FormTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(Float32FormTest, Is) {
  const absl::StatusOr<Graph> graph = ParseGraph(GetParam().before);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(HasOtherFloats(*graph));
  const absl::StatusOr<Graph> form = Float32Form(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  const absl::StatusOr<Graph> expected = ParseGraph(GetParam().after);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(PrintGraph(*form), PrintGraph(*expected));
}

INSTANTIATE_TEST_SUITE_P(All, Float32FormTest,
                         testing::ValuesIn(kFloat32FormCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(Float32FormTest, StatesStayAtThePorts) {
  absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float16[2] = input
%h : float16[2] = input
%n : float16[2] = add(%x, %h) id n
return %n
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  graph->states.push_back({graph->inputs[1], graph->outputs[0]});
  const absl::StatusOr<Graph> form = Float32Form(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  ASSERT_EQ(form->states.size(), 1u);
  EXPECT_EQ(form->states[0].input, form->inputs[1]);
  EXPECT_EQ(form->states[0].output, form->outputs[0]);
  EXPECT_EQ(form->tensors[form->inputs[1]].type, v1::FLOAT16);
}

TEST(Float32FormTest, NoOtherFloats) {
  const auto graph = ParseGraph(R"(
%x : float32[2] = input
%i : int32[2] = cast(%x) id i
return %i
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_FALSE(HasOtherFloats(*graph));
}

}  // namespace
}  // namespace edgekiln::compiler
