#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kHoistQuantizeCases[] = {
    {"AboveMaxPoolAndReshape",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,1,2,1] = max_pool2d(%x) {kernel_h 2 kernel_w 1 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%r : float32[2] = reshape(%p) id r
%y : int8[2] scale 0.25 zero 3 = quantize(%r) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : float32[1,2,2,1] = input
%x.quantized : int8[1,2,2,1] scale 0.25 zero 3 = quantize(%x) {rounding HALF_EVEN} id y
%p.quantized : int8[1,1,2,1] scale 0.25 zero 3 = max_pool2d(%x.quantized) {kernel_h 2 kernel_w 1 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%y : int8[2] scale 0.25 zero 3 = reshape(%p.quantized) id r
return %y
)"},
    {"AboveGatherNdAndReverseSequence",
     R"(
%x : float32[2,2] = input
%n : int64[2] = constant [2, 1]
%i : int32[1,1] = constant [1]
%v : float32[2,2] = reverse_sequence(%x, %n) {batch_axis 1} id v
%g : float32[1,2] = gather_nd(%v, %i) id g
%y : int8[1,2] scale 0.25 zero 3 = quantize(%g) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : float32[2,2] = input
%n : int64[2] = constant [2, 1]
%i : int32[1,1] = constant [1]
%x.quantized : int8[2,2] scale 0.25 zero 3 = quantize(%x) {rounding HALF_EVEN} id y
%v.quantized : int8[2,2] scale 0.25 zero 3 = reverse_sequence(%x.quantized, %n) {batch_axis 1} id v
%y : int8[1,2] scale 0.25 zero 3 = gather_nd(%v.quantized, %i) id g
return %y
)"},
    {"NotAboveWhatIsReadTwice",
     R"(
%x : float32[2,2] = input
%r : float32[4] = reshape(%x) id r
%y : int8[4] scale 0.25 zero 3 = quantize(%r) {rounding HALF_EVEN} id y
return %y, %r
)",
     ""},
    {"NotAboveAPoolThatClamps",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,1,2,1] = max_pool2d(%x) {kernel_h 2 kernel_w 1 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {max 1.1}} id p
%y : int8[1,1,2,1] scale 0.25 zero 3 = quantize(%p) {rounding HALF_EVEN} id y
return %y
)",
     ""},
};

class HoistQuantizeTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(HoistQuantizeTest, Rewrites) {
  ExpectRewrite(*NewHoistQuantizePass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, HoistQuantizeTest,
                         testing::ValuesIn(kHoistQuantizeCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
