#include "compiler/passes/pass.h"
#include "compiler/passes/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kCases[] = {
    {"Float",
     R"(
%x : float32[1,1,2,4] = input
%w : float32[2,1,2,2] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%y : float32[1,1,1,2] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id y
return %y
)",
     R"(
%x : float32[1,1,2,4] = input
%w-2 : float32[2,1,2,4] = constant [1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8]
%y : float32[1,1,1,2] = conv2d(%x, %w-2) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)"},
    {"ZeroIsTheZeroPoint",
     R"(
%x : uint8[1,1,1,2] scale 0.5 zero 3 = input
%w : uint8[2,1,1,1] scale 0.5 zero 7 = constant [1, 2]
%y : uint8[1,1,1,2] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id y
return %y
)",
     R"(
%x : uint8[1,1,1,2] scale 0.5 zero 3 = input
%w-2 : uint8[2,1,1,2] scale 0.5 zero 7 = constant [1, 7, 7, 2]
%y : uint8[1,1,1,2] scale 1 zero 0 = conv2d(%x, %w-2) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)"},
    {"NotWhatHasNoGroups",
     R"(
%x : float32[1,1,1,2] = input
%w : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,1,1,1] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)",
     ""},
};

class UngroupConvolutionsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(UngroupConvolutionsTest, RewritesTo) {
  ExpectRewrite(*NewUngroupConvolutionsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, UngroupConvolutionsTest,
                         testing::ValuesIn(kCases), [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
