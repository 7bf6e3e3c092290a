#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kConvertReduceMeanCases[] = {
    {"KeepsDimensions",
     R"(
%x : float32[1,2,3,4] = input
%y : float32[1,1,1,4] = reduce_mean(%x) {axes [1, 2] keep_dims true} id y
return %y
)",
     R"(
%x : float32[1,2,3,4] = input
%y : float32[1,1,1,4] = average_pool2d(%x) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)"},
    {"DropsDimensions",
     R"(
%x : float32[1,2,3,4] = input
%y : float32[1,4] = reduce_mean(%x) {axes [1, 2]} id y
return %y
)",
     R"(
%x : float32[1,2,3,4] = input
%y.pooled : float32[1,1,1,4] = average_pool2d(%x) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
%y : float32[1,4] = reshape(%y.pooled) id y.reshape
return %y
)"},
    {"NotOtherAxes",
     R"(
%x : float32[1,2,3,4] = input
%y : float32[1,2,1,1] = reduce_mean(%x) {axes [2, 3] keep_dims true} id y
return %y
)",
     ""},
    {"NotQuantized",
     R"(
%x : int8[1,2,3,4] scale 1 zero 0 = input
%y : int8[1,1,1,4] scale 1 zero 0 = reduce_mean(%x) {axes [1, 2] keep_dims true} id y
return %y
)",
     ""},
};

class ConvertReduceMeanTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(ConvertReduceMeanTest, RewritesTo) {
  ExpectRewrite(*NewConvertReduceMeanPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvertReduceMeanTest,
                         testing::ValuesIn(kConvertReduceMeanCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
