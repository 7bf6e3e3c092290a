#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kRemoveDeadOpsCases[] = {
    {"DropsWhatNoOutputNeeds",
     R"(
%x : float32[2] = input
%dead : float32[2] = clip(%x) {clamp {min 0}} id dead
%y : float32[2] = add(%x, %x) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = add(%x, %x) id y
return %y
)"},
    {"DropsChains",
     R"(
%x : float32[2] = input
%a : float32[2] = clip(%x) {clamp {min 0}} id a
%b : float32[2] = clip(%a) {clamp {max 1}} id b
%y : float32[2] = add(%x, %x) id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = add(%x, %x) id y
return %y
)"},
    {"KeepsEveryOutput",
     R"(
%x : float32[2] = input
%a : float32[2] = clip(%x) {clamp {min 0}} id a
%b : float32[2] = clip(%x) {clamp {max 1}} id b
return %a, %b
)",
     ""},
    {"KeepsUnusedInputs",
     R"(
%x : float32[2] = input
%unused : float32[3] = input
%a : float32[2] = clip(%x) {clamp {min 0}} id a
return %a
)",
     ""},
};

class RemoveDeadOpsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(RemoveDeadOpsTest, RewritesTo) {
  ExpectRewrite(*NewRemoveDeadOpsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, RemoveDeadOpsTest,
                         testing::ValuesIn(kRemoveDeadOpsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
