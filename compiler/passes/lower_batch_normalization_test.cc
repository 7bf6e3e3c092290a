#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kLowerBatchNormalizationCases[] = {
    {"LastOfFourDimensions",
     R"(
%x : float32[1,1,1,2] = input
%s : float32[2] = constant [3, 4]
%o : float32[2] = constant [0, 1]
%m : float32[2] = constant [1, 2]
%v : float32[2] = constant [4, 1]
%y : float32[1,1,1,2] = batch_normalization(%x, %s, %o, %m, %v) {axis 3} id y
return %y
)",
     R"(
%x : float32[1,1,1,2] = input
%y.scale : float32[1,1,1,2] = constant [1.5, 4]
%y.offset : float32[2] = constant [-1.5, -7]
%y : float32[1,1,1,2] = depthwise_conv2d(%x, %y.scale, %y.offset) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1} id y
return %y
)"},
    {"AnotherDimension",
     R"(
%x : float32[1,2,3] = input
%s : float32[2] = constant [3, 4]
%o : float32[2] = constant [0, 1]
%m : float32[2] = constant [1, 2]
%v : float32[2] = constant [4, 1]
%y : float32[1,2,3] = batch_normalization(%x, %s, %o, %m, %v) {axis 1} id y
return %y
)",
     R"(
%x : float32[1,2,3] = input
%y.scale : float32[1,2,1] = constant [1.5, 4]
%y.scaled : float32[1,2,3] = mul(%x, %y.scale) id y.scale
%y.offset : float32[1,2,1] = constant [-1.5, -7]
%y : float32[1,2,3] = add(%y.scaled, %y.offset) id y
return %y
)"},
};

class LowerBatchNormalizationTest : public testing::TestWithParam<RewriteCase> {
};

TEST_P(LowerBatchNormalizationTest, RewritesTo) {
  ExpectRewrite(*NewLowerBatchNormalizationPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, LowerBatchNormalizationTest,
                         testing::ValuesIn(kLowerBatchNormalizationCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
