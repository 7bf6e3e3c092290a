#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kConvertMatMulCases[] = {
    {"ConstantMatrix",
     R"(
%x : float32[2,2] = input
%b : float32[2,3] = constant [1, 2, 3, 4, 5, 6]
%y : float32[2,3] = mat_mul(%x, %b) id y
return %y
)",
     R"(
%x : float32[2,2] = input
%b-2 : float32[3,2] = constant [1, 4, 2, 5, 3, 6]
%y : float32[2,3] = fully_connected(%x, %b-2) id y
return %y
)"},
    {"NotAProductOfActivations",
     R"(
%x : float32[2,2] = input
%z : float32[2,2] = input
%y : float32[2,2] = mat_mul(%x, %z) id y
return %y
)",
     ""},
};

class ConvertMatMulTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(ConvertMatMulTest, RewritesTo) {
  ExpectRewrite(*NewConvertMatMulPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvertMatMulTest,
                         testing::ValuesIn(kConvertMatMulCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
