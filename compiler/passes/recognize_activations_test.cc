#include "compiler/passes/pass.h"
#include "compiler/passes/pattern.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"
#include "ops/float16.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kRecognizeActivationsCases[] = {
    {"GeluHalfLast",
     R"(
%x : float32[2] = input
%c : float32[] = constant [0.70710677]
%one : float32[] = constant [1]
%half : float32[] = constant [0.5]
%a : float32[2] = mul(%x, %c) id a
%e : float32[2] = unary(%a) {function ERF} id e
%p : float32[2] = add(%e, %one) id p
%m : float32[2] = mul(%x, %p) id m
%y : float32[2] = mul(%m, %half) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function GELU} id y
return %y
)"},
    {"GeluHalfFirstAndDivision",
     R"(
%x : float32[2] = input
%c : float32[] = constant [1.4142135]
%one : float32[] = constant [1]
%half : float32[] = constant [0.5]
%a : float32[2] = binary(%x, %c) {function DIV} id a
%e : float32[2] = unary(%a) {function ERF} id e
%p : float32[2] = add(%e, %one) id p
%h : float32[2] = mul(%x, %half) id h
%y : float32[2] = mul(%h, %p) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function GELU} id y
return %y
)"},
    {"GeluTanh",
     R"(
%x : float32[2] = input
%k : float32[] = constant [0.044715]
%s : float32[] = constant [0.7978846]
%three : float32[] = constant [3]
%one : float32[] = constant [1]
%half : float32[] = constant [0.5]
%c : float32[2] = binary(%x, %three) {function POW} id c
%d : float32[2] = mul(%c, %k) id d
%e : float32[2] = add(%x, %d) id e
%f : float32[2] = mul(%e, %s) id f
%g : float32[2] = unary(%f) {function TANH} id g
%h : float32[2] = add(%g, %one) id h
%i : float32[2] = mul(%x, %half) id i
%y : float32[2] = mul(%i, %h) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function GELU_TANH} id y
return %y
)"},
    {"HardSwishOfFusedClip",
     R"(
%x : float32[2] = input
%three : float32[] = constant [3]
%six : float32[] = constant [6]
%a : float32[2] = add(%x, %three) {clamp {min 0 max 6}} id a
%b : float32[2] = mul(%x, %a) id b
%y : float32[2] = binary(%b, %six) {function DIV} id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function HARD_SWISH} id y
return %y
)"},
    {"HardSwishOfHardSigmoid",
     R"(
%x : float32[2] = input
%a : float32[2] = unary(%x) {function HARD_SIGMOID alpha 0.16666667 beta 0.5} id a
%y : float32[2] = mul(%a, %x) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function HARD_SWISH} id y
return %y
)"},
    {"NotOfAnotherTensor",
     R"(
%x : float32[2] = input
%z : float32[2] = input
%a : float32[2] = unary(%z) {function HARD_SIGMOID alpha 0.16666667 beta 0.5} id a
%y : float32[2] = mul(%a, %x) id y
return %y
)",
     ""},
    {"NotWithAnotherSlope",
     R"(
%x : float32[2] = input
%a : float32[2] = unary(%x) {function HARD_SIGMOID alpha 0.2 beta 0.5} id a
%y : float32[2] = mul(%a, %x) id y
return %y
)",
     ""},
};

class RecognizeActivationsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(RecognizeActivationsTest, Rewrites) {
  ExpectRewrite(*NewRecognizeActivationsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, RecognizeActivationsTest,
                         testing::ValuesIn(kRecognizeActivationsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Those of float16 exports are rounded before they are widened.
TEST(IsAboutTest, TakesConstantsOfFormulasAsExportersRoundThem) {
  const double wanted[] = {1.4142135623730951, 0.70710678118654752,
                           0.79788456080286536, 0.044715, 1.0 / 6};
  for (const double value : wanted) {
    const float half =
        ops::FloatFromHalf(ops::HalfFromFloat(static_cast<float>(value)));
    EXPECT_TRUE(IsAbout(half, value)) << value;
    EXPECT_TRUE(IsAbout(static_cast<float>(value), value)) << value;
    EXPECT_FALSE(IsAbout(value * 1.001, value)) << value;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
