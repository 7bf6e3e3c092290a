// What operators of arithmetic and those that move elements compute.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/op_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

// Computed by hand.
const OpCase kArithmeticCases[] = {
    {"AddBroadcasts",
     Binary({2, 2}, {2}).Node("Add", {"x", "z"}, {"y"}),
     kPicture,
     {10, 20},
     {11, 22, 13, 24},
     {2, 2}},
    {"SubOfActivations",
     Binary({4}, {1}).Node("Sub", {"x", "z"}, {"y"}),
     kPicture,
     {1},
     {0, 1, 2, 3},
     {4}},
    {"DivByConstant",
     Unary({4}).Floats("d", {}, {4}).Node("Div", {"x", "d"}, {"y"}),
     kPicture,
     {},
     {0.25, 0.5, 0.75, 1},
     {4}},
    {"SumOfThree",
     Binary({2}, {2}).Node("Sum", {"x", "z", "x"}, {"y"}),
     {1, 2},
     {10, 20},
     {12, 24},
     {2}},
    {"SumOfOne", Unary({2}).Node("Sum", {"x"}, {"y"}), {1, 2}, {}, {1, 2}, {2}},
    {"Neg", Unary({2}).Node("Neg", {"x"}, {"y"}), {1, -2}, {}, {-1, 2}, {2}},
    {"ClipByAttributes",
     Unary({4}, 9).Node("Clip", {"x"}, {"y"}).Float("min", 2).Float("max", 3),
     kPicture,
     {},
     {2, 2, 3, 3},
     {4}},
    {"ClipByInputs",
     Unary({4}).Floats("max", {}, {3}).Node("Clip", {"x", "", "max"}, {"y"}),
     kPicture,
     {},
     {1, 2, 3, 3},
     {4}},
    {"BatchNormalization",
     Unary({1, 2, 2})
         .Floats("s", {2}, {2, 3})
         .Floats("b", {2}, {0, 1})
         .Floats("m", {2}, {1, 2})
         .Floats("v", {2}, {4, 1})
         .Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
         .Float("epsilon", 0),
     kPicture,
     {},
     {0, 1, 4, 7},
     {1, 2, 2}},
    {"SoftmaxOfLastDimension",
     Unary({2, 2}).Node("Softmax", {"x"}, {"y"}),
     {0, 0, 5, 5},
     {},
     {0.5, 0.5, 0.5, 0.5},
     {2, 2}},
    {"SoftmaxBeforeOpset13FlattensTheRest",
     Unary({1, 2, 2}, 11).Node("Softmax", {"x"}, {"y"}),
     {0, 0, 0, 0},
     {},
     {0.25, 0.25, 0.25, 0.25},
     {1, 2, 2}},
    {"ReduceMeanByAttribute",
     Unary({1, 2, 2})
         .Node("ReduceMean", {"x"}, {"y"})
         .Ints("axes", {-1})
         .Int("keepdims", 0),
     kPicture,
     {},
     {1.5, 3.5},
     {1, 2}},
    // Nothing is reduced, but all else is done.
    {"ReduceL2OfNoAxes",
     Unary({1, 2}, 18)
         .Node("ReduceL2", {"x"}, {"y"})
         .Int("noop_with_empty_axes", 1),
     {-3, 4},
     {},
     {3, 4},
     {1, 2}},
    {"ReduceSumSquareOfNoAxes",
     Unary({1, 2}, 18)
         .Node("ReduceSumSquare", {"x"}, {"y"})
         .Int("noop_with_empty_axes", 1),
     {-3, 4},
     {},
     {9, 16},
     {1, 2}},
    {"ReduceLogSumOfNoAxes",
     Unary({2}, 18)
         .Node("ReduceLogSum", {"x"}, {"y"})
         .Int("noop_with_empty_axes", 1),
     {1, 0x1.5bf0a8p+1f},  // e.
     {},
     {0, 1},
     {2}},
    {"ReduceMaxOfNoAxes",
     Unary({2}, 18)
         .Node("ReduceMax", {"x"}, {"y"})
         .Int("noop_with_empty_axes", 1),
     {-3, 4},
     {},
     {-3, 4},
     {2}},
    {"ReduceMeanByInput",
     Unary({1, 2, 2}, 18)
         .Integers("axes", {1})
         .Node("ReduceMean", {"x", "axes"}, {"y"}),
     kPicture,
     {},
     {2, 3},
     {1, 1, 2}},
    {"GemmScalesBoth",
     Unary({1, 2})
         .Floats("b", {2, 2}, {1, 2, 3, 4})
         .Floats("c", {1}, {10})
         .Node("Gemm", {"x", "b", "c"}, {"y"})
         .Float("alpha", 2)
         .Float("beta", 0.5),
     {1, 10},
     {},
     {67, 89},
     {1, 2}},
    {"GemmTransposesBoth",
     Unary({2, 1})
         .Floats("b", {2, 2}, {1, 2, 3, 4})
         .Node("Gemm", {"x", "b"}, {"y"})
         .Int("transA", 1)
         .Int("transB", 1),
     {1, 10},
     {},
     {21, 43},
     {1, 2}},
    {"GemmOfActivations",
     Binary({1, 2}, {2, 1})
         .Floats("c", {1, 1}, {5})
         .Node("Gemm", {"x", "z", "c"}, {"y"}),
     {1, 10},
     {3, 4},
     {48},
     {1, 1}},
    {"MatMulOfVectors",
     Binary({2}, {2}).Node("MatMul", {"x", "z"}, {"y"}),
     {1, 10},
     {3, 4},
     {43},
     {}},
};

INSTANTIATE_TEST_SUITE_P(Arithmetic, OnnxOpTest,
                         testing::ValuesIn(kArithmeticCases), CaseName);

const OpCase kShapeCases[] = {
    {"ReshapeZeroAndMinusOne",
     Unary({2, 1, 2}).Integers("s", {0, -1}).Node("Reshape", {"x", "s"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {2, 2}},
    {"FlattenSqueezeUnsqueeze",
     Unary({1, 2, 2}, 11)
         .Node("Flatten", {"x"}, {"f"})
         .Node("Squeeze", {"f"}, {"s"})
         .Node("Unsqueeze", {"s"}, {"y"})
         .Ints("axes", {0, 2}),
     kPicture,
     {},
     kPicture,
     {1, 4, 1}},
    {"TransposeReversesByDefault",
     Unary({1, 2, 2}).Node("Transpose", {"x"}, {"y"}),
     kPicture,
     {},
     {1, 3, 2, 4},
     {2, 2, 1}},
    {"IdentityAndDropoutPassOn",
     Unary({2}).Node("Identity", {"x"}, {"i"}).Node("Dropout", {"i"}, {"y"}),
     {1, 2},
     {},
     {1, 2},
     {2}},
    {"ConcatOfActivations",
     Binary({1, 2}, {1, 1}).Node("Concat", {"x", "z"}, {"y"}).Int("axis", -1),
     {1, 2},
     {3},
     {1, 2, 3},
     {1, 3}},
    {"PadWithValue",
     Unary({1, 2})
         .Integers("p", {0, 1, 1, 0})
         .Floats("v", {}, {9})
         .Node("Pad", {"x", "p", "v"}, {"y"}),
     {1, 2},
     {},
     {9, 1, 2, 9, 9, 9},
     {2, 3}},
    {"PadOfWhatIsCroppedToNothing",
     Unary({1, 2})
         .Integers("p", {-1, 0, 1, 1})
         .Floats("v", {}, {9})
         .Node("Pad", {"x", "p", "v"}, {"y"}),
     {1, 2},
     {},
     {9, 9, 9},
     {1, 3}},
    {"PReluOfAScalar",
     Unary({}).Floats("s", {1}, {0.5}).Node("PRelu", {"x", "s"}, {"y"}),
     {-3},
     {},
     {-1.5},
     {}},
    {"PadOfChosenAxes",
     Unary({1, 2}, 18)
         .Integers("p", {0, 1})
         .Integers("a", {-1})
         .Node("Pad", {"x", "p", "", "a"}, {"y"}),
     {1, 2},
     {},
     {1, 2, 0},
     {1, 3}},
    // x.view(x.size(0), -1), as PyTorch writes it.
    {"ShapeArithmetic",
     Unary({1, 2, 2}, 11)
         .Integers("zero", {0})
         .Integers("rest", {-1})
         .Node("Shape", {"x"}, {"s"})
         .Node("Gather", {"s", "zero"}, {"n"})
         .Node("Concat", {"n", "rest"}, {"to"})
         .Int("axis", 0)
         .Node("Reshape", {"x", "to"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {1, 4}},
    {"SliceAndMulOfShapes",
     Unary({1, 2, 2})
         .Integers("one", {1})
         .Integers("end", {9})
         .Node("Shape", {"x"}, {"s"})
         .Node("Slice", {"s", "one", "end"}, {"hw"})
         .Node("Mul", {"hw", "one"}, {"to"})
         .Node("Reshape", {"x", "to"}, {"y"}),
     kPicture,
     {},
     kPicture,
     {2, 2}},
    // torch.arange(7, x.numel(), -2) on a tensor of one element.
    {"RangeOfConstants",
     Unary({1})
         .Floats("from", {}, {7})
         .Floats("step", {}, {-2})
         .Node("Size", {"x"}, {"size"})
         .Node("Cast", {"size"}, {"to"})
         .Int("to", onnx::TensorProto::FLOAT)
         .Node("Range", {"from", "to", "step"}, {"r"})
         .Node("Mul", {"x", "r"}, {"y"}),
     {1},
     {},
     {7, 5, 3},
     {3}},
    {"ConstantNode",
     Unary({2})
         .Node("Constant", {}, {"c"})
         .Float("value_float", 3)
         .Node("Mul", {"x", "c"}, {"y"}),
     {1, 2},
     {},
     {3, 6},
     {2}},
    {"SymbolicBatchIsOne",
     Unary({-1, 2}).Node("Relu", {"x"}, {"y"}),
     {-1, 2},
     {},
     {0, 2},
     {1, 2}},
    {"OldOpsetWhereTheOperatorIsTheSame",
     Unary({2}, 1).Node("Softsign", {"x"}, {"y"}),
     {-1, 3},
     {},
     {-0.5, 0.75},
     {2}},
    {"UnneededNodesAreNotLookedAt",
     Unary({1, 2}).Node("Relu", {"x"}, {"y"}).Node("NoSuchOp", {"x"}, {"n"}),
     {-1, 2},
     {},
     {0, 2},
     {1, 2}},
    {"ConstantOutput",
     Unary({1}).Floats("k", {1}, {7}).Node("Identity", {"k"}, {"y"}),
     {1},
     {},
     {7},
     {1}},
};

INSTANTIATE_TEST_SUITE_P(Shape, OnnxOpTest, testing::ValuesIn(kShapeCases),
                         CaseName);

// A chip has no place for a tensor without elements.
TEST(OnnxPadTest, WhatIsCroppedToNothingIsFilledAtOnce) {
  const absl::StatusOr<Graph> graph =
      ImportOnnx(Unary({1, 2})
                     .Integers("p", {-1, 0, 1, 1})
                     .Floats("v", {}, {9})
                     .Node("Pad", {"x", "p", "v"}, {"y"})
                     .bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Tensor& tensor : graph->tensors) {
    EXPECT_GT(tensor.num_elements(), 0) << tensor.name;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
