// What operators that slide a window compute.

#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/op_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

// Computed by hand.
const OpCase kWindowCases[] = {
    {"ConvSameUpper",
     Unary({1, 1, 2, 2})
         .Floats("w", {1, 1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .String("auto_pad", "SAME_UPPER"),
     kPicture,
     {},
     {4321, 402, 43, 4},
     {1, 1, 2, 2}},
    {"ConvSameLower",
     Unary({1, 1, 2, 2})
         .Floats("w", {1, 1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .String("auto_pad", "SAME_LOWER"),
     kPicture,
     {},
     {1000, 2100, 3010, 4321},
     {1, 1, 2, 2}},
    {"ConvBiasStrideAsymmetricPads",
     Unary({1, 1, 2, 2})
         .Floats("w", {2, 1, 1, 2}, {1, 10, -1, 1})
         .Floats("b", {2}, {0.5, 0})
         .Node("Conv", {"x", "w", "b"}, {"y"})
         .Ints("pads", {1, 1, 0, 0})
         .Ints("strides", {2, 1}),
     kPicture,
     {},
     {0.5, 0.5, 30.5, 43.5, 0, 0, 3, 1},
     {1, 2, 2, 2}},
    {"ConvDilation",
     Unary({1, 1, 1, 4})
         .Floats("w", {1, 1, 1, 2}, {1, 10})
         .Node("Conv", {"x", "w"}, {"y"})
         .Ints("dilations", {1, 3}),
     kPicture,
     {},
     {41},
     {1, 1, 1, 1}},
    {"ConvOneDimension",
     Unary({1, 2, 2})
         .Floats("w", {1, 2, 2}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"}),
     kPicture,
     {},
     {4321},
     {1, 1, 1}},
    {"ConvDepthwiseWithMultiplier",
     Unary({1, 2, 1, 2})
         .Floats("w", {4, 1, 1, 1}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .Int("group", 2),
     kPicture,
     {},
     {1, 2, 10, 20, 300, 400, 3000, 4000},
     {1, 4, 1, 2}},
    {"ConvTwoGroups",
     Unary({1, 4, 1, 1})
         .Floats("w", {2, 2, 1, 1}, {1, 10, 100, 1000})
         .Node("Conv", {"x", "w"}, {"y"})
         .Int("group", 2),
     kPicture,
     {},
     {21, 4300},
     {1, 2, 1, 1}},
    {"MaxPoolCeilMode",
     Unary({1, 1, 1, 3})
         .Node("MaxPool", {"x"}, {"y"})
         .Ints("kernel_shape", {1, 2})
         .Ints("strides", {1, 2})
         .Int("ceil_mode", 1),
     {1, 5, 3},
     {},
     {5, 3},
     {1, 1, 1, 2}},
    {"AveragePoolLeavesPaddingOut",
     Unary({1, 1, 2, 2})
         .Node("AveragePool", {"x"}, {"y"})
         .Ints("kernel_shape", {2, 2})
         .Ints("pads", {1, 1, 0, 0}),
     kPicture,
     {},
     {1, 1.5, 2, 2.5},
     {1, 1, 2, 2}},
    {"AveragePoolCountsPadding",
     Unary({1, 1, 2, 2})
         .Node("AveragePool", {"x"}, {"y"})
         .Ints("kernel_shape", {2, 2})
         .Ints("pads", {1, 1, 0, 0})
         .Int("count_include_pad", 1),
     kPicture,
     {},
     {0.25, 0.75, 1, 2.5},
     {1, 1, 2, 2}},
    // 10 * 0.7f rounds to 7 in float, and is below 7 in double.
    {"ResizeScalesAreFloats",
     Unary({1, 1, 1, 10})
         .Floats("by", {4}, {1, 1, 1, 0.7f})
         .Node("Resize", {"x", "", "by"}, {"y"})
         .String("coordinate_transformation_mode", "asymmetric")
         .String("nearest_mode", "floor"),
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
     {},
     {0, 1, 2, 4, 5, 7, 8},
     {1, 1, 1, 7}},
    {"GlobalPools",
     Unary({1, 2, 1, 2})
         .Node("GlobalAveragePool", {"x"}, {"a"})
         .Node("GlobalMaxPool", {"x"}, {"m"})
         .Node("Add", {"a", "m"}, {"y"}),
     kPicture,
     {},
     {3.5, 7.5},
     {1, 2, 1, 1}},
};

INSTANTIATE_TEST_SUITE_P(Window, OnnxOpTest, testing::ValuesIn(kWindowCases),
                         CaseName);

}  // namespace
}  // namespace edgekiln::compiler
