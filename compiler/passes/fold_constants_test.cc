#include "compiler/passes/pass.h"
#include "compiler/passes/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kCases[] = {
    {"SeveralOutputs",
     R"(
%x : float32[2] = input
%c : float32[3] = constant [1, 3, 2]
%v : float32[2], %i : int64[2] = top_k(%c) {k 2 axis 0} id t
%y : float32[2] = add(%x, %v) id y
return %y
)",
     R"(
%x : float32[2] = input
%v : float32[2] = constant [3, 2]
%y : float32[2] = add(%x, %v) id y
return %y
)"},
    {"ComputesOpsOfConstants",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%b : float32[2] = constant [0.5, -4]
%c : float32[2] = add(%a, %b) id c
%y : float32[2] = mul(%x, %c) id y
return %y
)",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [1.5, -2]
%y : float32[2] = mul(%x, %c) id y
return %y
)"},
    {"FollowsChains",
     R"(
%x : float32[2,1] = input
%a : float32[1,2] = constant [1, -2]
%t : float32[2,1] = transpose(%a) {permutation [1, 0]} id t
%r : float32[2,1] = clip(%t) {clamp {min 0}} id r
%y : float32[2,1] = mul(%x, %r) id y
return %y
)",
     R"(
%x : float32[2,1] = input
%r : float32[2,1] = constant [1, 0]
%y : float32[2,1] = mul(%x, %r) id y
return %y
)"},
    {"KeepsOutputs",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%y : float32[2] = clip(%a) {clamp {max 1}} id y
%z : float32[2] = add(%x, %a) id z
return %y, %z
)",
     ""},
};

class FoldConstantsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(FoldConstantsTest, RewritesTo) {
  ExpectRewrite(*NewFoldConstantsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FoldConstantsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
