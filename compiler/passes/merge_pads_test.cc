#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kMergePadsCases[] = {
    {"IntoConvolution",
     R"(
%x : float32[1,3,3,1] = input
%w : float32[1,2,2,1] = constant [1, 2, 3, 4]
%p : float32[1,4,6,1] = pad(%x) {before [0, 1, 2, 0] after [0, 0, 1, 0]} id p
%y : float32[1,4,6,1] = conv2d(%p, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_left 1}} id y
return %y
)",
     R"(
%x : float32[1,3,3,1] = input
%w : float32[1,2,2,1] = constant [1, 2, 3, 4]
%y : float32[1,4,6,1] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 2 pad_left 3 pad_right 1}} id y
return %y
)"},
    {"IntoQuantizedDepthwise",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 7 = input
%w : int8[1,2,2,1] scale 0.25 zero 0 = constant [1, 2, 3, 4]
%p : int8[1,3,3,1] scale 0.5 zero 7 = pad(%x) {before [0, 0, 0, 0] after [0, 1, 1, 0]} id p
%y : int8[1,2,2,1] scale 0.5 zero 2 = depthwise_conv2d(%p, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1} id y
return %y
)",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 7 = input
%w : int8[1,2,2,1] scale 0.25 zero 0 = constant [1, 2, 3, 4]
%y : int8[1,2,2,1] scale 0.5 zero 2 = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_bottom 1 pad_right 1} depth_multiplier 1} id y
return %y
)"},
    {"NotOfOtherValues",
     R"(
%x : float32[1,2,2,1] = input
%w : float32[1,2,2,1] = constant [1, 2, 3, 4]
%p : float32[1,3,3,1] = pad(%x) {before [0, 0, 0, 0] after [0, 1, 1, 0] value 1} id p
%y : float32[1,2,2,1] = conv2d(%p, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     ""},
    {"NotOfChannels",
     R"(
%x : float32[1,2,2,1] = input
%w : float32[1,1,1,2] = constant [1, 2]
%p : float32[1,2,2,2] = pad(%x) {before [0, 0, 0, 0] after [0, 0, 0, 1]} id p
%y : float32[1,2,2,1] = conv2d(%p, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     ""},
    {"IntoMaxPoolOfNonNegativeValues",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = clip(%x) {clamp {min 0}} id a
%p : float32[1,3,3,1] = pad(%a) {before [0, 1, 1, 0] after [0, 0, 0, 0]} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = clip(%x) {clamp {min 0}} id a
%y : float32[1,2,2,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_left 1}} id y
return %y
)"},
    {"NotIntoMaxPoolOfAnyValues",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,3,3,1] = pad(%x) {before [0, 1, 1, 0] after [0, 0, 0, 0]} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     ""},
    {"IntoAveragePoolThatCountsIt",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,3,3,1] = pad(%x) {before [0, 1, 1, 0] after [0, 0, 0, 0]} id p
%y : float32[1,2,2,1] = average_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     R"(
%x : float32[1,2,2,1] = input
%y : float32[1,2,2,1] = average_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_left 1} count_include_pad true} id y
return %y
)"},
};

class MergePadsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(MergePadsTest, RewritesTo) {
  ExpectRewrite(*NewMergePadsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, MergePadsTest, testing::ValuesIn(kMergePadsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
