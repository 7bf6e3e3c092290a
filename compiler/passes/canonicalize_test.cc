#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kCanonicalizeCases[] = {
    {"SubtractionOfAConstant",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [1, -2]
%y : float32[2] = binary(%x, %c) {function SUB clamp {min 0}} id y
return %y
)",
     R"(
%x : float32[2] = input
%c.negated : float32[2] = constant [-1, 2]
%y : float32[2] = add(%x, %c.negated) {clamp {min 0}} id y
return %y
)"},
    {"DivisionByPowersOfTwo",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [4, -0.5]
%y : float32[2] = binary(%x, %c) {function DIV} id y
return %y
)",
     R"(
%x : float32[2] = input
%c.reciprocal : float32[2] = constant [0.25, -2]
%y : float32[2] = mul(%x, %c.reciprocal) id y
return %y
)"},
    {"NotDivisionThatRounds",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [4, 3]
%y : float32[2] = binary(%x, %c) {function DIV} id y
return %y
)",
     ""},
    {"MaximumWithANumberIsAClip",
     R"(
%x : float32[2] = input
%c : float32[] = constant [0]
%m : float32[2] = binary(%c, %x) {function MAXIMUM} id m
%d : float32[1] = constant [6]
%y : float32[2] = binary(%m, %d) {function MINIMUM} id y
return %y
)",
     R"(
%x : float32[2] = input
%m : float32[2] = clip(%x) {clamp {min 0}} id m
%y : float32[2] = clip(%m) {clamp {max 6}} id y
return %y
)"},
    {"NotAMaximumThatBroadcasts",
     R"(
%x : float32[2] = input
%c : float32[1,1] = constant [0]
%y : float32[1,2] = binary(%x, %c) {function MAXIMUM} id y
return %y
)",
     ""},
    {"OneSlope",
     R"(
%x : float32[2] = input
%c : float32[1] = constant [0.25]
%y : float32[2] = binary(%x, %c) {function PRELU} id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = unary(%x) {function LEAKY_RELU alpha 0.25} id y
return %y
)"},
    {"Squares",
     R"(
%x : float32[2] = input
%c : float32[] = constant [2]
%p : float32[2] = binary(%x, %c) {function POW} id p
%y : float32[2] = mul(%p, %p) id y
return %y
)",
     R"(
%x : float32[2] = input
%p : float32[2] = unary(%x) {function SQUARE} id p
%y : float32[2] = unary(%p) {function SQUARE} id y
return %y
)"},
    {"ReciprocalOfARoot",
     R"(
%x : float32[2] = input
%s : float32[2] = unary(%x) {function SQUARE} id s
%r : float32[2] = unary(%s) {function SQRT} id r
%y : float32[2] = unary(%r) {function RECIPROCAL} id y
return %y
)",
     R"(
%x : float32[2] = input
%s : float32[2] = unary(%x) {function SQUARE} id s
%y : float32[2] = unary(%s) {function RSQRT} id y
return %y
)"},
    {"ConstantLast",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [1, -2]
%y : float32[2] = mul(%c, %x) id y
return %y
)",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [1, -2]
%y : float32[2] = mul(%x, %c) id y
return %y
)"},
};

class CanonicalizeTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(CanonicalizeTest, Rewrites) {
  ExpectRewrite(*NewCanonicalizePass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, CanonicalizeTest,
                         testing::ValuesIn(kCanonicalizeCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
