#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kFuseClampsCases[] = {
    {"IntoAdd",
     R"(
%x : float32[2] = input
%a : float32[2] = add(%x, %x) id a
%y : float32[2] = clip(%a) {clamp {min 0 max 6}} id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = add(%x, %x) {clamp {min 0 max 6}} id a
return %y
)"},
    {"ComposesBounds",
     R"(
%x : float32[2] = input
%a : float32[2] = add(%x, %x) {clamp {min -1 max 3}} id a
%b : float32[2] = clip(%a) {clamp {min 0}} id b
%y : float32[2] = clip(%b) {clamp {max 2}} id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = add(%x, %x) {clamp {min 0 max 2}} id a
return %y
)"},
    {"DisjointBoundsGiveAConstant",
     R"(
%x : float32[2] = input
%a : float32[2] = add(%x, %x) {clamp {max -2}} id a
%y : float32[2] = clip(%a) {clamp {min -1 max 5}} id y
return %y
)",
     R"(
%x : float32[2] = input
%y : float32[2] = add(%x, %x) {clamp {min -1 max -1}} id a
return %y
)"},
    {"ThroughMaxPoolAndReshape",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = mul(%x, %x) id a
%p : float32[1,1,1,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%r : float32[1,1] = reshape(%p) id r
%y : float32[1,1] = clip(%r) {clamp {max 4}} id y
return %y
)",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = mul(%x, %x) {clamp {max 4}} id a
%p : float32[1,1,1,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%y : float32[1,1] = reshape(%p) id r
return %y
)"},
    {"IntoMaxPoolOfAnInput",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,1,1,1] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%y : float32[1,1,1,1] = clip(%p) {clamp {min 0}} id y
return %y
)",
     R"(
%x : float32[1,2,2,1] = input
%y : float32[1,1,1,1] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id p
return %y
)"},
    {"NotWhereTheSumIsRead",
     R"(
%x : float32[2] = input
%a : float32[2] = add(%x, %x) id a
%y : float32[2] = clip(%a) {clamp {min 0}} id y
%z : float32[2] = mul(%a, %y) id z
return %z
)",
     ""},
    {"NotPastAReadMaxPool",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = mul(%x, %x) id a
%p : float32[1,1,1,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%y : float32[1,1,1,1] = clip(%p) {clamp {max 4}} id y
return %y, %a
)",
     R"(
%x : float32[1,2,2,1] = input
%a : float32[1,2,2,1] = mul(%x, %x) id a
%y : float32[1,1,1,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {max 4}} id p
return %y, %a
)"},
    {"QuantizedWithOneScale",
     R"(
%x : int8[8] scale 0.5 zero 3 = input
%a : int8[8] scale 0.25 zero 1 = add(%x, %x) id a
%y : int8[8] scale 0.25 zero 1 = clip(%a) {clamp {min 0}} id y
return %y
)",
     R"(
%x : int8[8] scale 0.5 zero 3 = input
%y : int8[8] scale 0.25 zero 1 = add(%x, %x) {clamp {min 0}} id a
return %y
)"},
    {"NotWhereTheScaleChanges",
     R"(
%x : int8[8] scale 0.5 zero 3 = input
%a : int8[8] scale 0.25 zero 1 = add(%x, %x) id a
%y : int8[8] scale 0.125 zero 1 = clip(%a) {clamp {min 0}} id y
return %y
)",
     ""},
};

class FuseClampsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(FuseClampsTest, RewritesTo) {
  ExpectRewrite(*NewFuseClampsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FuseClampsTest,
                         testing::ValuesIn(kFuseClampsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
