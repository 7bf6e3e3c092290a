#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kFoldScaleAndBiasCases[] = {
    {"BatchNormalizationIntoConvolution",
     R"(
%x : float32[1,1,1,1] = input
%w : float32[2,1,1,1] = constant [1, 2]
%b : float32[2] = constant [1, 1]
%s : float32[2] = constant [3, 4]
%o : float32[2] = constant [0, 1]
%m : float32[2] = constant [1, 2]
%v : float32[2] = constant [4, 1]
%c : float32[1,1,1,2] = conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : float32[1,1,1,2] = batch_normalization(%c, %s, %o, %m, %v) {axis 3} id y
return %y
)",
     R"(
%x : float32[1,1,1,1] = input
%w-2 : float32[2,1,1,1] = constant [1.5, 8]
%b-2 : float32[2] = constant [0, -3]
%y : float32[1,1,1,2] = conv2d(%x, %w-2, %b-2) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
return %y
)"},
    {"MulThenAddIntoDepthwise",
     R"(
%x : float32[1,1,1,2] = input
%w : float32[1,1,1,2] = constant [1, 2]
%s : float32[2] = constant [3, 4]
%o : float32[1,1,1,2] = constant [0.5, 1]
%c : float32[1,1,1,2] = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1} id c
%d : float32[1,1,1,2] = mul(%c, %s) id d
%y : float32[1,1,1,2] = add(%d, %o) {clamp {min 0}} id y
return %y
)",
     R"(
%x : float32[1,1,1,2] = input
%w-2 : float32[1,1,1,2] = constant [3, 8]
%w.bias-2 : float32[2] = constant [0.5, 1]
%y : float32[1,1,1,2] = depthwise_conv2d(%x, %w-2, %w.bias-2) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1 clamp {min 0}} id c
return %y
)"},
    {"Scalar",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%s : float32[1] = constant [2]
%c : float32[1,2] = fully_connected(%x, %w) id c
%y : float32[1,2] = mul(%c, %s) id y
return %y
)",
     R"(
%x : float32[1,2] = input
%w-2 : float32[2,2] = constant [2, 4, 6, 8]
%w.bias : float32[2] = constant [0, 0]
%y : float32[1,2] = fully_connected(%x, %w-2, %w.bias) id c
return %y
)"},
    {"NotBehindAClamp",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%o : float32[2] = constant [1, 2]
%c : float32[1,2] = fully_connected(%x, %w) {clamp {min 0}} id c
%y : float32[1,2] = add(%c, %o) id y
return %y
)",
     ""},
    {"NotWhereTheSumIsRead",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%o : float32[2] = constant [1, 2]
%c : float32[1,2] = fully_connected(%x, %w) id c
%y : float32[1,2] = add(%c, %o) id y
return %y, %c
)",
     ""},
    {"NotPerPixel",
     R"(
%x : float32[1,1,2,1] = input
%w : float32[1,1,1,1] = constant [1]
%o : float32[2,1] = constant [1, 2]
%c : float32[1,1,2,1] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : float32[1,1,2,1] = add(%c, %o) id y
return %y
)",
     ""},
    {"NotWhereItBroadcastsTheLayer",
     R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [1, 2]
%o : float32[3] = constant [1, 2, 3]
%c : float32[1,1] = fully_connected(%x, %w) id c
%y : float32[1,3] = add(%c, %o) id y
return %y
)",
     ""},
};

class FoldScaleAndBiasTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(FoldScaleAndBiasTest, RewritesTo) {
  ExpectRewrite(*NewFoldScaleAndBiasPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FoldScaleAndBiasTest,
                         testing::ValuesIn(kFoldScaleAndBiasCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
