#include "compiler/passes/pass.h"
#include "compiler/passes/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kCases[] = {
    {"InsideTheGraph",
     R"(
%x : float32[2,2] = input
%q : uint8[2,2] scale 0.25 zero 100 = quantize(%x) {rounding HALF_EVEN} id q
%r : uint8[4] scale 0.25 zero 100 = reshape(%q) id r
%y : float32[4] = dequantize(%r) id y
return %y
)",
     R"(
%x : float32[2,2] = input
%q : int8[2,2] scale 0.25 zero -28 = quantize(%x) {rounding HALF_EVEN} id q
%r : int8[4] scale 0.25 zero -28 = reshape(%q) id r
%y : float32[4] = dequantize(%r) id y
return %y
)"},
    {"Constants",
     R"(
%x : float32[2] = input
%k : uint8[2] scale 0.25 zero 100 = constant [0, 255]
%kr : float32[2] = dequantize(%k) id kr
%s : float32[2] = add(%x, %kr) id s
%q : int8[2] scale 0.25 zero 100 = quantize(%s) {rounding HALF_EVEN} id q
return %q
)",
     R"(
%x : float32[2] = input
%k : int8[2] scale 0.25 zero -28 = constant [-128, 127]
%kr : float32[2] = dequantize(%k) id kr
%s : float32[2] = add(%x, %kr) id s
%q : int8[2] scale 0.25 zero 100 = quantize(%s) {rounding HALF_EVEN} id q
return %q
)"},
    {"BorderKeepsItsType",
     R"(
%x : uint8[2] scale 0.25 zero 100 = input
%xr : float32[2] = dequantize(%x) id xr
%s : float32[2] = add(%xr, %xr) id s
%y : uint8[2] scale 0.5 zero 0 = quantize(%s) {rounding HALF_EVEN} id y
return %y
)",
     R"(
%x : uint8[2] scale 0.25 zero 100 = input
%x.int8 : int8[2] scale 0.25 zero -28 = quantize(%x) id to_int8
%xr : float32[2] = dequantize(%x.int8) id xr
%s : float32[2] = add(%xr, %xr) id s
%y.int8 : int8[2] scale 0.5 zero -128 = quantize(%s) {rounding HALF_EVEN} id y
%y : uint8[2] scale 0.5 zero 0 = quantize(%y.int8) id to_uint8
return %y
)"},
    {"BorderIsConvertedOnce",
     R"(
%x : uint8[2] scale 0.25 zero 100 = input
%a : int8[2] scale 0.25 zero -28 = quantize(%x) id to_int8
%xr : float32[2] = dequantize(%a) id xr
%s : float32[2] = add(%xr, %xr) id s
%b : int8[2] scale 0.5 zero -128 = quantize(%s) {rounding HALF_EVEN} id b
%y : uint8[2] scale 0.5 zero 0 = quantize(%b) id to_uint8
return %y
)",
     ""},
    {"ConvolutionTakesEither",
     R"(
%x : float32[1,2] = input
%w : uint8[1,2] scale 0.5 zero 128 = constant [0, 255]
%q : uint8[1,2] scale 0.25 zero 100 = quantize(%x) {rounding HALF_EVEN} id q
%s : uint8[1,1] scale 0.5 zero 7 = fully_connected(%q, %w) id s
%a : uint8[1,1] scale 0.5 zero 9 = add(%s, %s) id a
%y : float32[1,1] = dequantize(%a) id y
return %y
)",
     R"(
%x : float32[1,2] = input
%q : int8[1,2] scale 0.25 zero -28 = quantize(%x) {rounding HALF_EVEN} id q
%w : int8[1,2] scale 0.5 zero 0 = constant [-128, 127]
%s : int8[1,1] scale 0.5 zero -121 = fully_connected(%q, %w) id s
%a : int8[1,1] scale 0.5 zero -119 = add(%s, %s) id a
%y : float32[1,1] = dequantize(%a) id y
return %y
)"},
    {"WhatTakesZeroPointsOffFirst",
     R"(
%x : float32[1,2] = input
%w : uint8[2,2] scale 0.5 zero 128 = constant [0, 255, 128, 1]
%q : uint8[1,2] scale 0.25 zero 100 = quantize(%x) {rounding HALF_EVEN} id q
%m : uint8[1,2] scale 0.5 zero 7 = mul(%q, %q) id m
%c : uint8[1,2] scale 0.5 zero 7 = clip(%m) {clamp {min 0 max 6}} id c
%p : uint8[1,2] scale 0.5 zero 9 = mat_mul(%c, %w) id p
%s : uint8[1,2] scale 0.00390625 zero 0 = softmax(%p) {beta 1 axis 1} id s
%y : float32[1,2] = dequantize(%s) id y
return %y
)",
     R"(
%x : float32[1,2] = input
%w : int8[2,2] scale 0.5 zero 0 = constant [-128, 127, 0, -127]
%q : int8[1,2] scale 0.25 zero -28 = quantize(%x) {rounding HALF_EVEN} id q
%m : int8[1,2] scale 0.5 zero -121 = mul(%q, %q) id m
%c : int8[1,2] scale 0.5 zero -121 = clip(%m) {clamp {min 0 max 6}} id c
%p : int8[1,2] scale 0.5 zero -119 = mat_mul(%c, %w) id p
%s : int8[1,2] scale 0.00390625 zero -128 = softmax(%p) {beta 1 axis 1} id s
%y : float32[1,2] = dequantize(%s) id y
return %y
)"},
    {"NotWhereAnAverageRoundsIntegers",
     R"(
%x : float32[1,1,2,1] = input
%q : uint8[1,1,2,1] scale 0.25 zero 100 = quantize(%x) {rounding HALF_EVEN} id q
%a : uint8[1,1,1,1] scale 0.25 zero 100 = average_pool2d(%q) {kernel_h 1 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%y : float32[1,1,1,1] = dequantize(%a) id y
return %y
)",
     ""},
    {"NotInModelsOfTensorFlowLite",
     R"(
%x : float32[2] = input
%q : uint8[2] scale 0.25 zero 100 = quantize(%x) id q
%y : float32[2] = dequantize(%q) id y
return %y
)",
     ""},
    {"NotAtTheBorderWithScalesPerChannel",
     R"(
%x : uint8[2] axis 0 scale [0.5, 0.25] zero [1, 2] = input
%f : float32[2] = input
%y : float32[2] = dequantize(%x) id y
%q : int8[2] scale 1 zero 0 = quantize(%f) {rounding HALF_EVEN} id q
%z : float32[2] = dequantize(%q) id z
return %y, %z
)",
     ""},
};

class ShiftToInt8Test : public testing::TestWithParam<RewriteCase> {};

TEST_P(ShiftToInt8Test, Rewrites) {
  ExpectRewrite(*NewShiftToInt8Pass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ShiftToInt8Test, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
