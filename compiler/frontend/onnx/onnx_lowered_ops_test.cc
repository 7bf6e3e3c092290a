// What operators compute that become several ops, or constants: where the
// published conformance tests do not look.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/computed.h"
#include "compiler/frontend/onnx/testing/op_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Computed by hand.
const OpCase kLoweredCases[] = {
    {"Mish",
     Unary({3}, 18).Node("Mish", {"x"}, {"y"}),
     {0, 1, -20},
     {},
     {0, 0.86509839f, -4.1223072e-8f},
     {3}},
    {"LpNormalizationOfZeros",
     Unary({2, 2}).Node("LpNormalization", {"x"}, {"y"}),
     {3, 4, 0, 0},
     {},
     {0.6f, 0.8f, 0, 0},
     {2, 2}},
    {"LpNormalizationOfOrder1",
     Unary({2, 2})
         .Node("LpNormalization", {"x"}, {"y"})
         .Int("p", 1)
         .Int("axis", 0),
     {3, 0, -1, 0},
     {},
     {0.75f, 0, -0.25f, 0},
     {2, 2}},
    // Means 2 and 6, deviations 1; parameters per group, then per channel.
    {"GroupNormalizationBeforeOpset21",
     Unary({1, 4, 1}, 18)
         .Floats("s", {2}, {1, 2})
         .Floats("b", {2}, {0, 10})
         .Node("GroupNormalization", {"x", "s", "b"}, {"y"})
         .Int("num_groups", 2)
         .Float("epsilon", 0),
     {1, 3, 5, 7},
     {},
     {-1, 1, 8, 12},
     {1, 4, 1}},
    {"GroupNormalization",
     Unary({1, 4, 1}, 21)
         .Floats("s", {4}, {1, 2, 3, 4})
         .Floats("b", {4}, {0, 0, 10, 10})
         .Node("GroupNormalization", {"x", "s", "b"}, {"y"})
         .Int("num_groups", 2)
         .Float("epsilon", 0),
     {1, 3, 5, 7},
     {},
     {-1, 2, 7, 14},
     {1, 4, 1}},
    {"LpPool",
     Unary({1, 1, 3}).Node("LpPool", {"x"}, {"y"}).Ints("kernel_shape", {2}),
     {3, 4, -12},
     {},
     {5, 12.649111f},
     {1, 1, 2}},
    {"GlobalLpPool",
     Unary({1, 2, 2}).Node("GlobalLpPool", {"x"}, {"y"}).Int("p", 1),
     {3, -4, 1, 1},
     {},
     {7, 2},
     {1, 2, 1}},
    {"LogSumExpOfLargeAndInfinite",
     Unary({3, 2})
         .Node("ReduceLogSumExp", {"x"}, {"l"})
         .Ints("axes", {1})
         .Int("keepdims", 0)
         .Node("Reciprocal", {"l"}, {"y"}),
     {1000, 1000, -kInfinity, -kInfinity, 1, kInfinity},
     {},
     {1 / 1000.6931f, 0, 0},
     {3}},
    {"ReduceLogSumWithAxesAsInput",
     Unary({1, 2}, 18)
         .Integers("axes", {1})
         .Node("ReduceLogSum", {"x", "axes"}, {"y"}),
     {1, 3},
     {},
     {1.3862944f},
     {1, 1}},
    {"GridSampleOfOpset20",
     Unary({1, 1, 1, 2}, 20)
         .Floats("g", {1, 1, 1, 2}, {0, 0})
         .Node("GridSample", {"x", "g"}, {"y"})
         .String("mode", "linear"),
     {1, 2},
     {},
     {1.5f},
     {1, 1, 1, 1}},
    {"ScatterElementsOfOpset18",
     Unary({1, 3}, 18)
         .Integers("flat", {1, 1})
         .Integers("two", {1, 2})
         .Node("Reshape", {"flat", "two"}, {"i"})
         .Floats("u", {1, 2}, {9, 4})
         .Node("ScatterElements", {"x", "i", "u"}, {"y"})
         .Int("axis", 1)
         .String("reduction", "max"),
     {1, 5, 2},
     {},
     {1, 9, 2},
     {1, 3}},
    // e^(-2 pi i k / 3)
    {"DftAlongAnInput",
     Unary({3, 1, 1}, 20)
         .Floats("axis", {}, {0})
         .Node("DFT", {"x", "", "axis"}, {"y"}),
     {0, 1, 0},
     {},
     {1, 0, -0.5f, -0.8660254f, -0.5f, 0.8660254f},
     {3, 1, 2}},
    {"DftLongerThanItsInput",
     Unary({1, 2, 1}, 17)
         .Floats("length", {}, {4})
         .Node("DFT", {"x", "length"}, {"y"})
         .Int("onesided", 1),
     {1, 1},
     {},
     {2, 0, 1, -1, 0, 0},
     {1, 3, 2}},
    {"TriluOfAMaskAtRunTime",
     Unary({1, 1})
         .Floats("zeros", {2000, 1}, std::vector<float>(2000))
         .Floats("row", {1, 2000}, std::vector<float>(2000, 1))
         .Node("Add", {"zeros", "row"}, {"ones"})
         .Node("Mul", {"x", "ones"}, {"full"})
         .Node("Trilu", {"full"}, {"upper"})
         .Int("upper", 0)
         .Node("ReduceSum", {"upper"}, {"y"}),
     {1},
     {},
     {2001000},
     {1, 1}},
    {"OneHotOfFloats",
     Unary({3}, 11)
         .Floats("depth", {}, {2})
         .Floats("values", {2}, {-1, 5})
         .Node("OneHot", {"x", "depth", "values"}, {"y"})
         .Int("axis", 0),
     {1, -1, 7},
     {},
     {-1, -1, -1, 5, 5, -1},
     {2, 3}},
    {"HardmaxFlattensBeforeOpset13",
     Unary({2, 2, 2}, 11).Node("Hardmax", {"x"}, {"y"}),
     {1, 2, 3, 4, 9, 8, 9, 7},
     {},
     {0, 0, 0, 1, 1, 0, 0, 0},
     {2, 2, 2}},
    {"UniqueKeepsTheOrderOfAppearance",
     Unary({1})
         .Floats("v", {6}, {2, 1, 1, 3, 4, 3})
         .Node("Unique", {"v"}, {"u", "", "", "counts"})
         .Int("sorted", 0)
         .Node("Cast", {"counts"}, {"c"})
         .Int("to", 1)
         .Node("Add", {"u", "c"}, {"uc"})
         .Node("Mul", {"uc", "x"}, {"y"}),
     {1},
     {},
     {3, 3, 5, 5},
     {4}},
    {"NonZeroOfAConstant",
     Unary({2, 2})
         .Floats("v", {2, 2}, {0, 1, 1, 0})
         .Node("NonZero", {"v"}, {"at"})
         .Node("Transpose", {"at"}, {"pairs"})
         .Node("GatherND", {"x", "pairs"}, {"y"}),
     kPicture,
     {},
     {2, 3},
     {2}},
    {"IgnoredLabelsWeighNothing",
     Unary({2, 2}, 12)
         .Integers("labels", {1, -1})
         .Node("NegativeLogLikelihoodLoss", {"x", "labels"}, {"y"})
         .Int("ignore_index", -1),
     kPicture,
     {},
     {-2},
     {}},
};

INSTANTIATE_TEST_SUITE_P(Lowered, OnnxOpTest, testing::ValuesIn(kLoweredCases),
                         CaseName);

TEST(OnnxLoweredOpsTest, ShapesThatDependOnValuesAreRefused) {
  TestModel non_zero = Unary({3}).Node("NonZero", {"x"}, {"i"});
  non_zero.Node("Cast", {"i"}, {"y"}).Int("to", 1);
  ExpectSays(ErrorOf(non_zero), "computed at run time");
  TestModel unique = Unary({3}).Node("Unique", {"x"}, {"y"});
  ExpectSays(ErrorOf(unique), "computed at run time");
  TestModel compress = Binary({3}, {3});
  compress.Node("Cast", {"z"}, {"c"}).Int("to", 9);
  compress.Node("Compress", {"x", "c"}, {"y"});
  ExpectSays(ErrorOf(compress), "computed at run time");
}

TEST(OnnxLoweredOpsTest, HostileSizesAreRefused) {
  TestModel one_hot = Unary({3})
                          .Floats("depth", {}, {3e9f})
                          .Floats("values", {2}, {0, 1})
                          .Node("OneHot", {"x", "depth", "values"}, {"y"});
  ExpectSays(ErrorOf(one_hot), "depth");
  TestModel dft = Unary({1, 4, 1}, 17)
                      .Floats("length", {}, {60000})
                      .Node("DFT", {"x", "length"}, {"y"});
  ErrorOf(dft);
  TestModel window = Unary({1}, 17)
                         .Floats("size", {}, {1e9f})
                         .Node("HannWindow", {"size"}, {"y"});
  ExpectSays(ErrorOf(window), "size");
  TestModel unpool = Unary({1, 1, 2, 2})
                         .Integers("flat", {0, 1, 2, 3})
                         .Integers("shape", {1, 1, 2, 2})
                         .Node("Reshape", {"flat", "shape"}, {"i"})
                         .Node("MaxUnpool", {"x", "i"}, {"y"})
                         .Ints("kernel_shape", {2, 2})
                         .Ints("strides", {1 << 30, 1 << 30});
  ErrorOf(unpool);
}

TEST(OnnxLoweredOpsTest, OutputShapesOfAnUnpool) {
  const std::vector<int64_t> shapes[] = {
      {1, 1, 4, 3}, {1, 1, 4}, {1, 1, 4, INT64_MIN}, {-1, 1, 4, 4}};
  for (const std::vector<int64_t>& shape : shapes) {
    TestModel model = Unary({1, 1, 2, 2})
                          .Integers("flat", {0, 1, 2, 3})
                          .Integers("four", {1, 1, 2, 2})
                          .Integers("wanted", shape)
                          .Node("Reshape", {"flat", "four"}, {"i"})
                          .Node("MaxUnpool", {"x", "i", "wanted"}, {"y"})
                          .Ints("kernel_shape", {2, 2})
                          .Ints("strides", {2, 2});
    ExpectSays(ErrorOf(model), "at least [1,1,4,4]");
  }
}

TEST(OnnxLoweredOpsTest, RandomValuesAreRefused) {
  TestModel model = Unary({3}, 15).Node("Bernoulli", {"x"}, {"y"});
  ExpectSays(ErrorOf(model), "Bernoulli");
}

}  // namespace
}  // namespace edgekiln::compiler
