#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kFoldIntoFollowingCases[] = {
    {"NormalizationBeforeAConvolution",
     R"(
%x : float32[1,1,1,2] = input
%s : float32[2] = constant [2, 3]
%b : float32[2] = constant [1, -1]
%m : float32[2] = constant [0, 0]
%v : float32[2] = constant [1, 1]
%w : float32[1,1,1,2] = constant [10, 20]
%n : float32[1,1,1,2] = batch_normalization(%x, %s, %b, %m, %v) {axis 3} id n
%y : float32[1,1,1,1] = conv2d(%n, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     R"(
%x : float32[1,1,1,2] = input
%"w-2" : float32[1,1,1,2] = constant [20, 60]
%w.bias : float32[1] = constant [-10]
%y : float32[1,1,1,1] = conv2d(%x, %"w-2", %w.bias) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)"},
    {"ScaleThroughPadding",
     R"(
%x : float32[1,1,1,2] = input
%s : float32[2] = constant [2, 3]
%w : float32[1,1,2,4] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%n : float32[1,1,1,2] = mul(%x, %s) id n
%p : float32[1,1,2,2] = pad(%n) {before [0, 0, 1, 0] after [0, 0, 0, 0]} id p
%y : float32[1,1,1,4] = depthwise_conv2d(%p, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 2} id y
return %y
)",
     R"(
%x : float32[1,1,1,2] = input
%p : float32[1,1,2,2] = pad(%x) {before [0, 0, 1, 0] after [0, 0, 0, 0]} id p
%"w-2" : float32[1,1,2,4] = constant [2, 4, 9, 12, 10, 12, 21, 24]
%y : float32[1,1,1,4] = depthwise_conv2d(%p, %"w-2") {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 2} id y
return %y
)"},
    {"NotAnOffsetBeforePadding",
     R"(
%x : float32[1,1,1,2] = input
%s : float32[2] = constant [2, 3]
%w : float32[1,1,1,2] = constant [10, 20]
%n : float32[1,1,1,2] = add(%x, %s) id n
%y : float32[1,2,1,1] = conv2d(%n, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1}} id y
return %y
)",
     ""},
    {"NotWhereTheScaledIsRead",
     R"(
%x : float32[1,2] = input
%s : float32[2] = constant [2, 3]
%w : float32[1,2] = constant [10, 20]
%n : float32[1,2] = mul(%x, %s) id n
%y : float32[1,1] = fully_connected(%n, %w) id y
return %y, %n
)",
     ""},
    {"WeightsOfNoOutputs",
     R"(
%x : float32[1,2] = input
%s : float32[2] = constant [2, 3]
%w : float32[0,2] = constant []
%n : float32[1,2] = mul(%x, %s) id n
%y : float32[1,0] = fully_connected(%n, %w) id y
return %y
)",
     ""},
    {"AnOpWithoutItsSecondInput",
     R"(
%x : float32[2,3] = input
%s : float32[2,3] = constant [2, 2, 2, 2, 2, 2]
%b : float32[3] = constant [1, 2, 3]
%m : float32[2,3] = mul(%x, %s) id m
%y : float32[2,3] = layer_normalization(%m, _, %b) {axis 1 epsilon 0.5} id y
return %y
)",
     ""},
};

class FoldIntoFollowingTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(FoldIntoFollowingTest, Rewrites) {
  ExpectRewrite(*NewFoldIntoFollowingPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FoldIntoFollowingTest,
                         testing::ValuesIn(kFoldIntoFollowingCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
