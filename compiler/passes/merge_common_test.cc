#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kMergeCommonCases[] = {
    {"ChainsOfTheSame",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%b : float32[2] = constant [1, 2]
%p : float32[2] = add(%x, %a) id p
%q : float32[2] = add(%x, %b) id q
%r : float32[2] = clip(%p) {clamp {min 0}} id r
%s : float32[2] = clip(%q) {clamp {min 0}} id s
%y : float32[2] = mul(%r, %s) id y
return %y
)",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%p : float32[2] = add(%x, %a) id p
%r : float32[2] = clip(%p) {clamp {min 0}} id r
%y : float32[2] = mul(%r, %r) id y
return %y
)"},
    {"OutputsKeepTheirNames",
     R"(
%x : float32[2] = input
%p : float32[2] = add(%x, %x) id p
%q : float32[2] = add(%x, %x) id q
return %p, %q
)",
     ""},
    {"NotWithOtherAttributes",
     R"(
%x : float32[2] = input
%p : float32[2] = clip(%x) {clamp {min 0}} id p
%q : float32[2] = clip(%x) {clamp {min 1}} id q
%y : float32[2] = add(%p, %q) id y
return %y
)",
     ""},
    {"NotWithAnotherScale",
     R"(
%x : int8[2] scale 1 zero 0 = input
%p : int8[2] scale 2 zero 0 = add(%x, %x) id p
%q : int8[2] scale 3 zero 0 = add(%x, %x) id q
%y : int8[2] scale 1 zero 0 = add(%p, %q) id y
return %y
)",
     ""},
};

class MergeCommonTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(MergeCommonTest, Rewrites) {
  ExpectRewrite(*NewMergeCommonPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, MergeCommonTest,
                         testing::ValuesIn(kMergeCommonCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
