#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kSinkTransposesCases[] = {
    {"ThroughClipToCancel",
     R"(
%x : float32[1,2,3,4] = input
%a : float32[1,4,2,3] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%b : float32[1,4,2,3] = clip(%a) {clamp {min 0}} id b
%c : float32[1,2,3,4] = transpose(%b) {permutation [0, 2, 3, 1]} id c
%y : float32[1,2,3,4] = add(%c, %x) id y
return %y
)",
     R"(
%x : float32[1,2,3,4] = input
%b.moved : float32[1,2,3,4] = clip(%x) {clamp {min 0}} id b
%y : float32[1,2,3,4] = add(%b.moved, %x) id y
return %y
)"},
    {"ThroughAddOfTwo",
     R"(
%x : float32[1,2,3,4] = input
%z : float32[1,2,3,4] = input
%a : float32[1,4,2,3] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%b : float32[1,4,2,3] = transpose(%z) {permutation [0, 3, 1, 2]} id b
%y : float32[1,4,2,3] = add(%a, %b) id y
return %y
)",
     R"(
%x : float32[1,2,3,4] = input
%z : float32[1,2,3,4] = input
%y.moved : float32[1,2,3,4] = add(%x, %z) id y
%y : float32[1,4,2,3] = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
    {"NotThroughAddOfDifferentLayouts",
     R"(
%x : float32[1,2,2,2] = input
%z : float32[1,2,2,2] = input
%a : float32[1,2,2,2] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[1,2,2,2] = add(%a, %z) id y
return %y
)",
     ""},
    {"ConstantOperandIsTurnedRound",
     R"(
%x : float32[1,1,2,3] = input
%k : float32[3,1,1] = constant [1, 2, 3]
%a : float32[1,3,1,2] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[1,3,1,2] = mul(%a, %k) id y
return %y
)",
     R"(
%x : float32[1,1,2,3] = input
%k.moved : float32[1,1,1,3] = constant [1, 2, 3]
%y.moved : float32[1,1,2,3] = mul(%x, %k.moved) id y
%y : float32[1,3,1,2] = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
    {"OperandWithOneRealExtentIsReshaped",
     R"(
%x : float32[1,2,2,3] = input
%s : float32[1,3,1,1] = input
%a : float32[1,3,2,2] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[1,3,2,2] = mul(%a, %s) id y
return %y
)",
     R"(
%x : float32[1,2,2,3] = input
%s : float32[1,3,1,1] = input
%s.moved : float32[1,1,1,3] = reshape(%s) id y.reshape
%y.moved : float32[1,2,2,3] = mul(%x, %s.moved) id y
%y : float32[1,3,2,2] = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
    {"SoftmaxAxisMoves",
     R"(
%x : float32[1,2,2,3] = input
%a : float32[1,3,2,2] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[1,3,2,2] = softmax(%a) {beta 1 axis 1} id y
return %y
)",
     R"(
%x : float32[1,2,2,3] = input
%y.moved : float32[1,2,2,3] = softmax(%x) {beta 1 axis 3} id y
%y : float32[1,3,2,2] = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
    {"PadAndConcatAxesMove",
     R"(
%x : float32[1,2,3,2] = input
%a : float32[1,2,2,3] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%p : float32[1,2,5,6] = pad(%a) {before [0, 0, 1, 0] after [0, 0, 2, 3]} id p
%y : float32[1,4,5,6] = concat(%p, %p) {axis 1} id y
return %y
)",
     R"(
%x : float32[1,2,3,2] = input
%p.moved : float32[1,5,6,2] = pad(%x) {before [0, 1, 0, 0] after [0, 2, 3, 0]} id p
%y.moved : float32[1,5,6,4] = concat(%p.moved, %p.moved) {axis 3} id y
%y : float32[1,4,5,6] = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
    {"MeanShortensTheTranspose",
     R"(
%x : float32[2,3,4,5] = input
%a : float32[2,5,3,4] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[2,5,4] = reduce_mean(%a) {axes [2]} id y
return %y
)",
     R"(
%x : float32[2,3,4,5] = input
%y.moved : float32[2,4,5] = reduce_mean(%x) {axes [1]} id y
%y : float32[2,5,4] = transpose(%y.moved) {permutation [0, 2, 1]} id y.transpose
return %y
)"},
    {"MeanThatKeepsDimensions",
     R"(
%x : float32[2,3,4,5] = input
%a : float32[2,5,3,4] = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : float32[2,5,1,1] = reduce_mean(%a) {axes [2, 3] keep_dims true} id y
return %y
)",
     R"(
%x : float32[2,3,4,5] = input
%y.moved : float32[2,1,1,5] = reduce_mean(%x) {axes [1, 2] keep_dims true} id y
%y : float32[2,5,1,1] = reshape(%y.moved) id y.transpose
return %y
)"},
    {"TransposeOfTransposeIsOne",
     R"(
%x : float32[2,3,4] = input
%a : float32[3,4,2] = transpose(%x) {permutation [1, 2, 0]} id a
%y : float32[4,3,2] = transpose(%a) {permutation [1, 0, 2]} id y
return %y
)",
     R"(
%x : float32[2,3,4] = input
%y : float32[4,3,2] = transpose(%x) {permutation [2, 1, 0]} id y
return %y
)"},
    {"MovingOnesIsAReshape",
     R"(
%x : int8[1,1,5,6] scale 0.5 zero 3 = input
%y : int8[1,5,6,1] scale 0.5 zero 3 = transpose(%x) {permutation [0, 2, 3, 1]} id y
return %y
)",
     R"(
%x : int8[1,1,5,6] scale 0.5 zero 3 = input
%y : int8[1,5,6,1] scale 0.5 zero 3 = reshape(%x) id y
return %y
)"},
    {"QuantizedAddKeepsItsScales",
     R"(
%x : int8[1,2,3,4] scale 0.5 zero 3 = input
%k : int8[4,1,1] scale 0.25 zero 1 = constant [1, 2, 3, 4]
%a : int8[1,4,2,3] scale 0.5 zero 3 = transpose(%x) {permutation [0, 3, 1, 2]} id a
%y : int8[1,4,2,3] scale 0.125 zero -5 = add(%a, %k) {clamp {min 0}} id y
return %y
)",
     R"(
%x : int8[1,2,3,4] scale 0.5 zero 3 = input
%k.moved : int8[1,1,1,4] scale 0.25 zero 1 = constant [1, 2, 3, 4]
%y.moved : int8[1,2,3,4] scale 0.125 zero -5 = add(%x, %k.moved) {clamp {min 0}} id y
%y : int8[1,4,2,3] scale 0.125 zero -5 = transpose(%y.moved) {permutation [0, 3, 1, 2]} id y.transpose
return %y
)"},
};

class SinkTransposesTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(SinkTransposesTest, RewritesTo) {
  ExpectRewrite(*NewSinkTransposesPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SinkTransposesTest,
                         testing::ValuesIn(kSinkTransposesCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
