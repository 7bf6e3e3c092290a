#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kRemoveNoopsCases[] = {
    {"ReshapeToTheSameShape",
     R"(
%x : float32[2,3] = input
%r : float32[2,3] = reshape(%x) id r
%y : float32[2,3] = clip(%r) {clamp {min 0}} id y
return %y
)",
     R"(
%x : float32[2,3] = input
%y : float32[2,3] = clip(%x) {clamp {min 0}} id y
return %y
)"},
    {"ReshapeOfReshapeReadsTheFirst",
     R"(
%x : float32[2,3] = input
%r : float32[6] = reshape(%x) id r
%y : float32[3,2] = reshape(%r) id y
return %y
)",
     R"(
%x : float32[2,3] = input
%y : float32[3,2] = reshape(%x) id y
return %y
)"},
    {"ReshapeThereAndBack",
     R"(
%x : float32[2,3] = input
%c : float32[2,3] = clip(%x) {clamp {min 0}} id c
%r : float32[6] = reshape(%c) id r
%y : float32[2,3] = reshape(%r) id y
%z : float32[2,3] = add(%y, %x) id z
return %z
)",
     R"(
%x : float32[2,3] = input
%c : float32[2,3] = clip(%x) {clamp {min 0}} id c
%z : float32[2,3] = add(%c, %x) id z
return %z
)"},
    {"OutputKeepsItsName",
     R"(
%x : float32[2] = input
%c : float32[2] = clip(%x) {clamp {min 0}} id c
%y : float32[2] = reshape(%c) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = clip(%x) {clamp {min 0}} id c
return %y
)"},
    {"OtherOutputsOfTheOpStay",
     R"(
%x : float32[4] = input
%v : float32[2], %i : int64[2] = top_k(%x) {k 2 axis 0} id t
%a : float32[2] = reshape(%v) id a
%b : int64[2] = reshape(%i) id b
%c : float32[2] = add(%v, %v) id c
return %a, %b, %c
)",
     R"(
%x : float32[4] = input
%a : float32[2], %b : int64[2] = top_k(%x) {k 2 axis 0} id t
%c : float32[2] = add(%a, %a) id c
return %a, %b, %c
)"},
    {"CopyOfAnInputStaysWhereItIsAnOutput",
     R"(
%x : float32[2] = input
%y : float32[2] = reshape(%x) id y
return %y
)",
     ""},
    {"CopyOfAnOutputStays",
     R"(
%x : float32[2] = input
%c : float32[2] = clip(%x) {clamp {min 0}} id c
%y : float32[2] = reshape(%c) id y
return %c, %y
)",
     ""},
    {"EmptyClipPadConcatTransposeMul",
     R"(
%x : float32[1,2] = input
%one : float32[1] = constant [1]
%a : float32[1,2] = clip(%x) id a
%b : float32[1,2] = pad(%a) {before [0, 0] after [0, 0]} id b
%c : float32[1,2] = concat(%b) {axis 1} id c
%d : float32[1,2] = transpose(%c) {permutation [0, 1]} id d
%e : float32[1,2] = mul(%d, %one) id e
%y : float32[1,2] = add(%e, %x) id y
return %y
)",
     R"(
%x : float32[1,2] = input
%y : float32[1,2] = add(%x, %x) id y
return %y
)"},
    {"ClipThatChangesTheScaleStays",
     R"(
%x : int8[2] scale 0.5 zero 0 = input
%y : int8[2] scale 0.25 zero 0 = clip(%x) id y
return %y
)",
     ""},
};

class RemoveNoopsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(RemoveNoopsTest, RewritesTo) {
  ExpectRewrite(*NewRemoveNoopsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, RemoveNoopsTest,
                         testing::ValuesIn(kRemoveNoopsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
