#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kShiftToInt8Cases[] = {
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
    {"AverageOfAPowerOfTwo",
     R"(
%x : uint8[1,1,2,1] scale 0.25 zero 100 = input
%a : uint8[1,1,1,1] scale 0.25 zero 100 = average_pool2d(%x) {kernel_h 1 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
return %a
)",
     R"(
%x : uint8[1,1,2,1] scale 0.25 zero 100 = input
%a.average : int8[1,1,2,1] scale 0.5 zero 0 = constant [1, 1]
%x.int8 : int8[1,1,2,1] scale 0.25 zero -28 = quantize(%x) id to_int8
%a.int8 : int8[1,1,1,1] scale 0.25 zero -28 = depthwise_conv2d(%x.int8, %a.average) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 1} id a
%a : uint8[1,1,1,1] scale 0.25 zero 100 = quantize(%a.int8) id to_uint8
return %a
)"},
    {"NotWhereAnAverageRoundsIntegers",
     R"(
%x : uint8[1,2,3,1] scale 0.25 zero 100 = input
%c : uint8[1,2,3,1] scale 0.25 zero 100 = clip(%x) {clamp {min 0}} id c
%a : uint8[1,1,1,1] scale 0.25 zero 100 = average_pool2d(%c) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%r : uint8[1,1] scale 0.25 zero 100 = reshape(%a) id r
return %r
)",
     R"(
%x : uint8[1,2,3,1] scale 0.25 zero 100 = input
%x.int8 : int8[1,2,3,1] scale 0.25 zero -28 = quantize(%x) id to_int8
%c.int8 : int8[1,2,3,1] scale 0.25 zero -28 = clip(%x.int8) {clamp {min 0}} id c
%c : uint8[1,2,3,1] scale 0.25 zero 100 = quantize(%c.int8) id to_uint8
%a : uint8[1,1,1,1] scale 0.25 zero 100 = average_pool2d(%c) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%a.int8 : int8[1,1,1,1] scale 0.25 zero -28 = quantize(%a) id to_int8-2
%r.int8 : int8[1,1] scale 0.25 zero -28 = reshape(%a.int8) id r
%r : uint8[1,1] scale 0.25 zero 100 = quantize(%r.int8) id to_uint8-2
return %r
)"},
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

// Ops of TensorFlow Lite on integers, with every value that a tensor can take.
struct ExactCase {
  const char* name;
  const char* y;   // Type and quantization of the result.
  const char* op;  // On %x, %z (likewise), %w and %b.
  bool stays = false;
};

void PrintTo(const ExactCase& row, std::ostream* out) { *out << row.name; }

constexpr char kWindow[] =
    "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}";

const ExactCase kExact[] = {
    {"Conv2d", "uint8[1,15,16,2] scale 3.5 zero 90",
     "conv2d(%x, %w, %b) {WINDOW clamp {min 0}}"},
    {"DepthwiseConv2d", "uint8[1,15,16,2] scale 3.5 zero 90",
     "depthwise_conv2d(%x, %d) {WINDOW depth_multiplier 1}"},
    {"FullyConnected", "uint8[256,1] scale 1.5 zero 0",
     "fully_connected(%x, %f)"},
    {"Add", "uint8[1,16,16,2] scale 0.3 zero 101", "add(%x, %z)"},
    {"Mul", "uint8[1,16,16,2] scale 0.3 zero 101", "mul(%x, %z)"},
    {"Clip", "uint8[1,16,16,2] scale 0.1 zero 3", "clip(%x) {clamp {max 6}}"},
    {"Concat", "uint8[1,16,32,2] scale 0.3 zero 101",
     "concat(%x, %z) {axis 2}"},
    {"MaxPool", "uint8[1,15,15,2] scale 0.25 zero 77",
     "max_pool2d(%x) {kernel_h 2 kernel_w 2 WINDOW clamp {min 0}}"},
    {"OddAverage", "uint8[1,14,14,2] scale 0.25 zero 77",
     "average_pool2d(%x) {kernel_h 3 kernel_w 3 WINDOW}"},
    {"AverageOfFour", "uint8[1,15,15,2] scale 0.25 zero 77",
     "average_pool2d(%x) {kernel_h 2 kernel_w 2 WINDOW clamp {min 0}}"},
    {"AverageOfSix", "uint8[1,15,14,2] scale 0.25 zero 77",
     "average_pool2d(%x) {kernel_h 2 kernel_w 3 WINDOW}", true},
    {"Mean", "uint8[1,2] scale 0.2 zero 60", "reduce_mean(%x) {axes [1, 2]}"},
    {"Sum", "uint8[1,16,2] scale 2 zero 60",
     "reduce(%x) {function SUM axes [1]}"},
    {"Maximum", "uint8[1,16,2] scale 0.25 zero 77",
     "reduce(%x) {function MAX axes [1]}"},
    {"Pad", "uint8[1,17,17,2] scale 0.25 zero 77",
     "pad(%x) {before [0, 1, 0, 0] after [0, 0, 1, 0] value -3.5}"},
    {"Transpose", "uint8[1,2,16,16] scale 0.25 zero 77",
     "transpose(%x) {permutation [0, 3, 1, 2]}"},
    {"Nearest", "uint8[1,32,32,2] scale 0.25 zero 77",
     "resize(%x) {mode NEAREST shape [1, 32, 32, 2]}"},
    {"Bilinear", "uint8[1,27,33,2] scale 0.25 zero 77",
     "resize(%x) {mode LINEAR shape [1, 27, 33, 2]}"},
    {"Cubic", "uint8[1,27,33,2] scale 0.25 zero 77",
     "resize(%x) {mode CUBIC shape [1, 27, 33, 2]}", true},
    {"Softmax", "uint8[1,16,16,2] scale 0.00390625 zero 0",
     "softmax(%x) {beta 1 axis 3}"},
    {"LogSoftmax", "uint8[1,16,16,2] scale 0.0625 zero 255",
     "log_softmax(%x) {axis 3}", true},
    {"L2", "uint8[1,16,16,2] scale 0.0078125 zero 128",
     "l2_normalization(%x) {axis 3}"},
    {"Tanh", "uint8[1,16,16,2] scale 0.0078125 zero 128",
     "unary(%x) {function TANH}"},
    {"HardSwish", "uint8[1,16,16,2] scale 0.25 zero 9",
     "unary(%x) {function HARD_SWISH}"},
    {"Sqrt", "uint8[1,16,16,2] scale 0.03 zero 9", "unary(%x) {function SQRT}"},
    {"Rsqrt", "uint8[1,16,16,2] scale 0.03 zero 9",
     "unary(%x) {function RSQRT}"},
    {"Exp", "uint8[1,16,16,2] scale 1.5 zero 9", "unary(%x) {function EXP}"},
    {"LeakyRelu", "uint8[1,16,16,2] scale 0.25 zero 99",
     "unary(%x) {function LEAKY_RELU alpha 0.3}"},
    {"Abs", "uint8[1,16,16,2] scale 0.25 zero 0", "unary(%x) {function ABS}"},
    {"Subtract", "uint8[1,16,16,2] scale 0.5 zero 128",
     "binary(%x, %z) {function SUB}"},
    {"Divide", "uint8[1,16,16,2] scale 0.05 zero 128",
     "binary(%x, %z) {function DIV}"},
    {"Minimum", "uint8[1,16,16,2] scale 0.5 zero 128",
     "binary(%x, %z) {function MINIMUM}"},
    {"SquaredDifference", "uint8[1,16,16,2] scale 4 zero 0",
     "binary(%x, %z) {function SQUARED_DIFFERENCE}"},
    {"TransposedConv", "uint8[1,17,16,1] scale 7 zero 90",
     "transposed_conv(%x, %t) {window {stride [1, 1] dilation [1, 1] "
     "pad_before [0, 0] pad_after [0, 0]}}"},
    {"MatMul", "uint8[1,16,16,3] scale 9 zero 90", "mat_mul(%x, %m)"},
    {"PadOfZero", "uint8[1,17,17,2] scale 0.25 zero 77",
     "pad(%x) {before [0, 1, 0, 0] after [0, 0, 1, 0]}"},
    {"TopK", "uint8[1,16,16,1] scale 0.25 zero 77, %i : int64[1,16,16,1]",
     "top_k(%x) {k 1 axis 3}"},
    {"Neg", "uint8[1,16,16,2] scale 0.25 zero 100", "unary(%x) {function NEG}"},
    {"Sine", "uint8[1,16,16,2] scale 0.0078125 zero 128",
     "unary(%x) {function SIN}"},
    {"Less", "bool[1,16,16,2]", "binary(%x, %z) {function LESS}"},
    {"ArgMax", "int64[1,16,16]", "arg_reduce(%x) {function MAX axis 3}"},
};

// The graph of the row, and whether its op's first input stays uint8.
class ExactShiftTest : public testing::TestWithParam<ExactCase> {};

TEST_P(ExactShiftTest, ComputesTheSame) {
  const std::string text = absl::StrReplaceAll(
      absl::StrCat(R"(
%x : uint8[1,16,16,2] scale 0.25 zero 77 = input
%z : uint8[1,16,16,2] scale 0.125 zero 200 = input
%w : uint8[2,2,1,2] scale 0.5 zero 131 = constant [0, 255, 130, 7, 9, 250, 131, 132]
%d : uint8[1,2,1,2] scale 0.5 zero 131 = constant [0, 255, 130, 7]
%f : uint8[1,2] scale 0.5 zero 131 = constant [3, 255]
%b : int32[2] scale 0.125 zero 0 = constant [-1000, 2000]
%t : uint8[1,2,1,2] scale 0.5 zero 131 = constant [0, 255, 130, 7]
%m : uint8[2,3] scale 0.5 zero 131 = constant [0, 255, 130, 7, 131, 132]
%y : )",
                   GetParam().y, " = ", GetParam().op, " id y\nreturn %y\n"),
      {{"WINDOW", kWindow}});
  const absl::StatusOr<Graph> before = ParseGraph(text);
  ASSERT_TRUE(before.ok()) << before.status();
  Graph after = *before;
  const auto changed = NewShiftToInt8Pass()->Run(PassContext{}, after);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(*changed == Changed::kYes, !GetParam().stays);
  ASSERT_TRUE(VerifyGraph(after).ok()) << VerifyGraph(after);
  for (const Op& op : after.ops) {
    if (op.id != "y") continue;
    EXPECT_EQ(after.tensors[op.inputs[0]].type,
              GetParam().stays ? v1::UINT8 : v1::INT8);
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ExpectSameOutputs(*before, after, seed);
  }
  Graph again = after;
  EXPECT_EQ(*NewShiftToInt8Pass()->Run(PassContext{}, again), Changed::kNo);
}

INSTANTIATE_TEST_SUITE_P(All, ExactShiftTest, testing::ValuesIn(kExact),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

class ShiftToInt8Test : public testing::TestWithParam<RewriteCase> {};

TEST_P(ShiftToInt8Test, Rewrites) {
  ExpectRewrite(*NewShiftToInt8Pass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ShiftToInt8Test,
                         testing::ValuesIn(kShiftToInt8Cases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
