#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kRecognizeNormalizationsCases[] = {
    {"Softmax",
     R"(
%x : float32[2,3] = input
%m : float32[2,1] = reduce(%x) {function MAX axes [1] keep_dims true} id m
%d : float32[2,3] = binary(%x, %m) {function SUB} id d
%e : float32[2,3] = unary(%d) {function EXP} id e
%s : float32[2,1] = reduce(%e) {function SUM axes [1] keep_dims true} id s
%y : float32[2,3] = binary(%e, %s) {function DIV} id y
return %y
)",
     R"(
%x : float32[2,3] = input
%y : float32[2,3] = softmax(%x) {beta 1 axis 1} id y
return %y
)"},
    {"NotASumOfAnotherAxis",
     R"(
%x : float32[2,3] = input
%e : float32[2,3] = unary(%x) {function EXP} id e
%s : float32[1,1] = reduce(%e) {function SUM axes [0, 1] keep_dims true} id s
%y : float32[2,3] = binary(%e, %s) {function DIV} id y
return %y
)",
     ""},
    {"LayerNormalization",
     R"(
%x : float32[2,3] = input
%eps : float32[] = constant [0.5]
%g : float32[3] = constant [1, 2, 3]
%b : float32[1,3] = constant [4, 5, 6]
%m : float32[2,1] = reduce_mean(%x) {axes [1] keep_dims true} id m
%d : float32[2,3] = binary(%x, %m) {function SUB} id d
%q : float32[2,3] = unary(%d) {function SQUARE} id q
%v : float32[2,1] = reduce_mean(%q) {axes [1] keep_dims true} id v
%a : float32[2,1] = add(%v, %eps) id a
%r : float32[2,1] = unary(%a) {function SQRT} id r
%n : float32[2,3] = binary(%d, %r) {function DIV} id n
%s : float32[2,3] = mul(%n, %g) id s
%y : float32[2,3] = add(%s, %b) id y
return %y
)",
     R"(
%x : float32[2,3] = input
%"g-2" : float32[3] = constant [1, 2, 3]
%"b-2" : float32[3] = constant [4, 5, 6]
%y : float32[2,3] = layer_normalization(%x, %"g-2", %"b-2") {axis 1 epsilon 0.5} id n
return %y
)"},
    {"LayerNormalizationByReciprocalRoot",
     R"(
%x : float32[2,3] = input
%eps : float32[] = constant [0.5]
%m : float32[2,1] = reduce_mean(%x) {axes [1] keep_dims true} id m
%q : float32[2,3] = binary(%x, %m) {function SQUARED_DIFFERENCE} id q
%v : float32[2,1] = reduce_mean(%q) {axes [1] keep_dims true} id v
%a : float32[2,1] = add(%v, %eps) id a
%r : float32[2,1] = unary(%a) {function RSQRT} id r
%d : float32[2,3] = binary(%x, %m) {function SUB} id d
%y : float32[2,3] = mul(%d, %r) id y
return %y
)",
     R"(
%x : float32[2,3] = input
%y : float32[2,3] = layer_normalization(%x) {axis 1 epsilon 0.5} id y
return %y
)"},
    {"NotAVarianceOfAnotherAxis",
     R"(
%x : float32[2,2] = input
%eps : float32[] = constant [0.5]
%m : float32[2,1] = reduce_mean(%x) {axes [1] keep_dims true} id m
%d : float32[2,2] = binary(%x, %m) {function SUB} id d
%q : float32[2,2] = unary(%d) {function SQUARE} id q
%v : float32[1,1] = reduce_mean(%q) {axes [0, 1] keep_dims true} id v
%a : float32[1,1] = add(%v, %eps) id a
%r : float32[1,1] = unary(%a) {function SQRT} id r
%y : float32[2,2] = binary(%d, %r) {function DIV} id y
return %y
)",
     ""},
};

class RecognizeNormalizationsTest : public testing::TestWithParam<RewriteCase> {
};

TEST_P(RecognizeNormalizationsTest, Rewrites) {
  ExpectRewrite(*NewRecognizeNormalizationsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, RecognizeNormalizationsTest,
                         testing::ValuesIn(kRecognizeNormalizationsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
