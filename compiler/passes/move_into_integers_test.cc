#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kMoveIntoIntegersCases[] = {
    {"ConvolutionWithBias",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 3 = input
%w : int8[2,1,1,1] axis 0 scale [0.25, 0.125] zero [0, 0] = constant [10, -20]
%b : int32[2] axis 0 scale [0.125, 0.0625] zero [0, 0] = constant [5, -6]
%xr : float32[1,2,2,1] = dequantize(%x) id xr
%wr : float32[2,1,1,1] = dequantize(%w) id wr
%br : float32[2] = dequantize(%b) id br
%c : float32[1,2,2,2] = conv2d(%xr, %wr, %br) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id conv
%y : int8[1,2,2,2] scale 0.3 zero 1 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 3 = input
%"w-2" : int8[2,1,1,1] axis 0 scale [0.25, 0.125] zero [0, 0] = constant [10, -20]
%br.int32 : int32[2] axis 0 scale [0.125, 0.0625] zero [0, 0] = constant [5, -6]
%y : int8[1,2,2,2] scale 0.3 zero 1 = conv2d(%x, %"w-2", %br.int32) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id conv
return %y
)"},
    {"FloatBiasIsRoundedToTheScaleOfTheProducts",
     R"(
%x : int8[1,2] scale 0.5 zero 0 = input
%w : int8[1,2] scale 0.25 zero 0 = constant [10, -20]
%b : float32[1] = constant [0.7]
%xr : float32[1,2] = dequantize(%x) id xr
%wr : float32[1,2] = dequantize(%w) id wr
%c : float32[1,1] = fully_connected(%xr, %wr, %b) id fc
%y : int8[1,1] scale 0.3 zero 1 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,2] scale 0.5 zero 0 = input
%"w-2" : int8[1,2] scale 0.25 zero 0 = constant [10, -20]
%b.int32 : int32[1] scale 0.125 zero 0 = constant [6]
%y : int8[1,1] scale 0.3 zero 1 = fully_connected(%x, %"w-2", %b.int32) id fc
return %y
)"},
    {"SaturationAtZeroIsAReLU6",
     R"(
%x : int8[4] scale 0.5 zero 0 = input
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = add(%xr, %xr) id c
%y : int8[4] scale 0.02352941 zero -128 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 0 = input
%y : int8[4] scale 0.02352941 zero -128 = add(%x, %x) {clamp {min 0 max 6}} id c
return %y
)"},
    {"SaturationAtZeroIsAReLU",
     R"(
%x : int8[4] scale 0.5 zero 0 = input
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = add(%xr, %xr) id c
%y : int8[4] scale 0.3 zero -128 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 0 = input
%y : int8[4] scale 0.3 zero -128 = add(%x, %x) {clamp {min 0}} id c
return %y
)"},
    {"ThroughReshapeAndItsCopyKeepsTheId",
     R"(
%x : int8[2,2] scale 0.5 zero 0 = input
%xr : float32[2,2] = dequantize(%x) id xr
%r : float32[4] = reshape(%xr) id r
%c : float32[4] = add(%r, %r) id c
%y : int8[4] scale 0.3 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[2,2] scale 0.5 zero 0 = input
%r.int8 : int8[4] scale 0.5 zero 0 = reshape(%x) id r
%y : int8[4] scale 0.3 zero 0 = add(%r.int8, %r.int8) id c
return %y
)"},
    {"ScalarConstantIsOneStep",
     R"(
%x : int8[4] scale 0.5 zero 7 = input
%k : float32[] = constant [-0.3]
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = mul(%xr, %k) id c
%y : int8[4] scale 0.4 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 7 = input
%k.int8 : int8[] scale 0.3 zero 0 = constant [-1]
%y : int8[4] scale 0.4 zero 0 = mul(%x, %k.int8) {rounding HALF_EVEN} id c
return %y
)"},
    {"AverageToAnotherScale",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 3 = input
%xr : float32[1,2,2,1] = dequantize(%x) id xr
%c : float32[1,1,1,1] = average_pool2d(%xr) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : int8[1,1,1,1] scale 0.31 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,2,2,1] scale 0.5 zero 3 = input
%y.average : int8[1,2,2,1] scale 0.25 zero 0 = constant [1, 1, 1, 1]
%y : int8[1,1,1,1] scale 0.31 zero 0 = depthwise_conv2d(%x, %y.average) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1} id c
return %y
)"},
    {"AverageBetweenStepsOfAScaleThatFloatsHoldExactly",
     R"(
%x : int8[1,2,2,1] scale 0.75 zero 3 = input
%xr : float32[1,2,2,1] = dequantize(%x) id xr
%c : float32[1,1,1,1] = average_pool2d(%xr) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : int8[1,1,1,1] scale 0.75 zero 3 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,2,2,1] scale 0.75 zero 3 = input
%y : int8[1,1,1,1] scale 0.75 zero 3 = average_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} rounding HALF_EVEN} id c
return %y
)"},
    {"NotAnAverageBetweenStepsOfAnotherScale",
     R"(
%x : int8[1,2,2,1] scale 0.3 zero 3 = input
%xr : float32[1,2,2,1] = dequantize(%x) id xr
%c : float32[1,1,1,1] = average_pool2d(%xr) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : int8[1,1,1,1] scale 0.3 zero 3 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     ""},
    {"AverageOfMany",
     R"(
%x : int8[1,10,10,1] scale 0.3 zero 3 = input
%xr : float32[1,10,10,1] = dequantize(%x) id xr
%c : float32[1,1,1,1] = average_pool2d(%xr) {kernel_h 10 kernel_w 10 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%y : int8[1,1,1,1] scale 0.3 zero 3 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,10,10,1] scale 0.3 zero 3 = input
%y : int8[1,1,1,1] scale 0.3 zero 3 = average_pool2d(%x) {kernel_h 10 kernel_w 10 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} rounding HALF_EVEN} id c
return %y
)"},
    {"ProductsThatMayTie",
     R"(
%x : int8[1,2] scale 0.5 zero 3 = input
%w : int8[2,2] axis 0 scale [0.25, 0.3] zero [0, 0] = constant [1, 2, 3, 4]
%xr : float32[1,2] = dequantize(%x) id xr
%wr : float32[2,2] = dequantize(%w) id wr
%c : float32[1,2] = fully_connected(%xr, %wr) id c
%y : int8[1,2] scale 1 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[1,2] scale 0.5 zero 3 = input
%"w-2" : int8[2,2] axis 0 scale [0.25, 0.3] zero [0, 0] = constant [1, 2, 3, 4]
%y : int8[1,2] scale 1 zero 0 = fully_connected(%x, %"w-2") {rounding HALF_EVEN} id c
return %y
)"},
    {"FunctionsAreThoseOfFloats",
     R"(
%x : int8[2] scale 0.3 zero 3 = input
%xr : float32[2] = dequantize(%x) id xr
%c : float32[2] = unary(%xr) {function SIGMOID} id c
%y : int8[2] scale 0.004 zero -128 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[2] scale 0.3 zero 3 = input
%y : int8[2] scale 0.004 zero -128 = unary(%x) {function SIGMOID rounding HALF_EVEN} id c
return %y
)"},
    {"SoAreMaximaOfTwo",
     R"(
%x : int8[2] scale 0.3 zero 3 = input
%xr : float32[2] = dequantize(%x) id xr
%one : float32[] = constant [0.7]
%c : float32[2] = binary(%xr, %one) {function MAXIMUM} id c
%y : int8[2] scale 0.2 zero -128 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[2] scale 0.3 zero 3 = input
%one.int8 : int8[] scale 0.7 zero 0 = constant [1]
%y : int8[2] scale 0.2 zero -128 = binary(%x, %one.int8) {function MAXIMUM rounding HALF_EVEN} id c
return %y
)"},
    {"ChangeOfScale",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%xr : float32[4] = dequantize(%x) id xr
%y : int8[4] scale 0.3 zero 0 = quantize(%xr) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%y : int8[4] scale 0.3 zero 0 = quantize(%x) {rounding HALF_EVEN} id y
return %y
)"},
    {"NotTheFloatIslandsOfTensorFlowLite",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = add(%xr, %xr) id c
%y : int8[4] scale 0.3 zero 0 = quantize(%c) id y
return %y
)",
     ""},
    {"NotWhereTheFloatIsRead",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = add(%xr, %xr) id c
%y : int8[4] scale 0.3 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y, %c
)",
     ""},
    {"NotAVectorThatIsNoInteger",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%k : float32[4] = constant [1, 2, 3, 4.1]
%xr : float32[4] = dequantize(%x) id xr
%c : float32[4] = add(%xr, %k) id c
%y : int8[4] scale 0.3 zero 0 = quantize(%c) {rounding HALF_EVEN} id y
return %y
)",
     ""},
};

class MoveIntoIntegersTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(MoveIntoIntegersTest, Rewrites) {
  ExpectRewrite(*NewMoveIntoIntegersPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, MoveIntoIntegersTest,
                         testing::ValuesIn(kMoveIntoIntegersCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
