#include "compiler/quantize/fill_values.h"

#include <string>
#include <utility>

#include "compiler/ir/text.h"
#include "compiler/quantize/testing/ranges.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// With a histogram of one value each.
v1::CalibrationStatistics Statistics(const Ranges& ranges) {
  v1::CalibrationStatistics statistics = StatisticsOf(ranges);
  for (auto& one : *statistics.mutable_ranges()) {
    one.mutable_histogram()->set_width_exponent(0);
    one.mutable_histogram()->add_positive(1);
  }
  return statistics;
}

Graph Parsed(const char* text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

struct ClipCase {
  const char* name;
  const char* before;
  Ranges ranges;
  const char* after;  // Empty: nothing is clipped.
  Ranges changed;     // Ranges of the result that differ.
};

constexpr char kBorderOfMaxima[] = R"(
%x : float32[1,2,2,1] = input
%p : float32[1,4,4,1] = pad(%x) {before [0, 1, 1, 0] after [0, 1, 1, 0] value -100} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id y
%w : float32[1,4] = constant [1, 1, 1, 1]
%z : float32[1,1] = fully_connected(%y, %w) id z
return %z
)";

const Ranges kBorderRanges = {
    {"x", {-2, 3}}, {"p", {-100, 3}}, {"y", {-1, 3}}, {"z", {-4, 9}}};

const ClipCase kCases[] = {
    {"AReluNeedsNothingBelowZero",
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [-1000]
%s : float32[3] = select(%m, %x, %c) id s
%r : float32[3] = reshape(%s) id r
%y : float32[3] = clip(%r) {clamp {min 0}} id y
return %y
)",
     {{"x", {-2, 3}}, {"s", {-1000, 3}}, {"r", {-1000, 3}}, {"y", {0, 3}}},
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [-2]
%s : float32[3] = select(%m, %x, %c) id s
%r : float32[3] = reshape(%s) id r
%y : float32[3] = clip(%r) {clamp {min 0}} id y
return %y
)",
     {{"s", {-2, 3}}, {"r", {-2, 3}}}},
    // Below the data, but not below zero: 0.5 is no 0.
    {"DataAboveTheLimit",
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [-1000]
%s : float32[3] = select(%m, %c, %x) id s
%y : float32[3] = clip(%s) {clamp {min 0 max 6}} id y
return %y
)",
     {{"x", {0.5, 3}}, {"s", {-1000, 3}}, {"y", {0, 3}}},
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [0]
%s : float32[3] = select(%m, %c, %x) id s
%y : float32[3] = clip(%s) {clamp {min 0 max 6}} id y
return %y
)",
     {{"s", {0, 3}}}},
    // Something else reads the value, or the constant.
    {"AnotherReaderTellsThemApart",
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [-1000]
%s : float32[3] = select(%m, %x, %c) id s
%y : float32[3] = clip(%s) {clamp {min 0}} id y
%z : float32[3] = add(%s, %x) id z
return %y, %z
)",
     {{"x", {-2, 3}}, {"s", {-1000, 3}}, {"y", {0, 3}}, {"z", {-1000, 3}}},
     "",
     {}},
    {"AnotherReaderOfTheConstant",
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[1] = constant [-1000]
%s : float32[3] = select(%m, %x, %c) id s
%y : float32[3] = unary(%s) {function HARD_SWISH} id y
%z : float32[3] = add(%x, %c) id z
return %y, %z
)",
     {{"x", {-2, 3}}, {"s", {-1000, 3}}, {"y", {-1, 3}}, {"z", {-1000, 3}}},
     R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[1] = constant [-1000]
%c.clipped : float32[1] = constant [-3]
%s : float32[3] = select(%m, %x, %c.clipped) id s
%y : float32[3] = unary(%s) {function HARD_SWISH} id y
%z : float32[3] = add(%x, %c) id z
return %y, %z
)",
     {{"s", {-3, 3}}}},
    // Every window holds one of the data's elements.
    {"TheBorderOfMaxima",
     kBorderOfMaxima,
     kBorderRanges,
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,4,4,1] = pad(%x) {before [0, 1, 1, 0] after [0, 1, 1, 0] value -2} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id y
%w : float32[1,4] = constant [1, 1, 1, 1]
%z : float32[1,1] = fully_connected(%y, %w) id z
return %z
)",
     {{"p", {-2, 3}}}},
    // Samples may be below what calibration saw, and 0 costs nothing.
    {"TheBorderOfPositiveMaxima",
     kBorderOfMaxima,
     {{"x", {2, 3}}, {"p", {-100, 3}}, {"y", {2, 3}}, {"z", {4, 9}}},
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,4,4,1] = pad(%x) {before [0, 1, 1, 0] after [0, 1, 1, 0] value 0} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id y
%w : float32[1,4] = constant [1, 1, 1, 1]
%z : float32[1,1] = fully_connected(%y, %w) id z
return %z
)",
     {{"p", {0, 3}}}},
    // The first windows hold nothing else.
    {"MaximaOfTheBorderAlone",
     R"(
%x : float32[1,2,2,1] = input
%p : float32[1,4,4,1] = pad(%x) {before [0, 2, 1, 0] after [0, 0, 1, 0] value -100} id p
%y : float32[1,2,2,1] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id y
%w : float32[1,4] = constant [1, 1, 1, 1]
%z : float32[1,1] = fully_connected(%y, %w) id z
return %z
)",
     {{"x", {-2, 3}}, {"p", {-100, 3}}, {"y", {-100, 3}}, {"z", {-400, 9}}},
     "",
     {}},
};

class ClipFillsTest : public testing::TestWithParam<ClipCase> {};

TEST_P(ClipFillsTest, LeavesWhatMatters) {
  const ClipCase& row = GetParam();
  const Graph graph = Parsed(row.before);
  const auto clipped = ClipFills(graph, Statistics(row.ranges), {}, v1::INT8);
  ASSERT_EQ(clipped.has_value(), row.after[0] != '\0');
  if (!clipped) return;
  EXPECT_EQ(PrintGraph(clipped->graph), PrintGraph(Parsed(row.after)));
  EXPECT_TRUE(VerifyGraph(clipped->graph).ok());
  Ranges expected = row.ranges;
  for (const auto& [tensor, range] : row.changed) expected[tensor] = range;
  Ranges seen;
  for (const auto& range : clipped->statistics.ranges()) {
    seen[range.tensor()] = {range.min(), range.max()};
  }
  EXPECT_EQ(seen, expected);
}

INSTANTIATE_TEST_SUITE_P(All, ClipFillsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// In a network of floats samples may be below what calibration saw.
TEST(ClipFillsTest, LeavesTheBorderOfFloatMaxima) {
  const Graph graph = Parsed(kBorderOfMaxima);
  const auto statistics = Statistics(kBorderRanges);
  EXPECT_TRUE(ClipFills(graph, statistics, {}, v1::INT8));
  EXPECT_FALSE(ClipFills(graph, statistics, {true, true, false}, v1::INT8));
}

// Far from 0 a sigmoid of floats still differs.
TEST(ClipFillsTest, LeavesWhatAFloatSigmoidReads) {
  const Graph graph = Parsed(R"(
%m : bool[3] = input
%x : float32[3] = input
%c : float32[] = constant [-1000]
%s : float32[3] = select(%m, %x, %c) id s
%y : float32[3] = unary(%s) {function SIGMOID} id y
return %y
)");
  const auto statistics =
      Statistics({{"x", {-2, 3}}, {"s", {-1000, 3}}, {"y", {0, 1}}});
  EXPECT_TRUE(ClipFills(graph, statistics, {}, v1::INT8));
  EXPECT_FALSE(ClipFills(graph, statistics, {false, true}, v1::INT8));
}

// A histogram whose bins are as wide as the fill value made them is worth
// nothing; that of the data beside it is.
TEST(ClipFillsTest, TakesTheHistogramOfTheData) {
  const Graph graph = Parsed(kBorderOfMaxima);
  v1::CalibrationStatistics statistics = Statistics(kBorderRanges);
  for (auto& range : *statistics.mutable_ranges()) {
    range.mutable_histogram()->set_width_exponent(range.tensor() == "x" ? -9
                                                                        : 0);
  }
  const auto clipped = ClipFills(graph, statistics, {}, v1::INT8);
  ASSERT_TRUE(clipped);
  for (const auto& range : clipped->statistics.ranges()) {
    if (range.tensor() != "p") continue;
    EXPECT_EQ(range.histogram().width_exponent(), -9);
  }
}

TEST(FillWarningTest, NamesConstantTensorLayerAndFix) {
  const char* text = R"(
%m : bool[1,2] = input
%x : float32[1,2] = input
%c : float32[] = constant [-1000]
%s : float32[1,2] = select(%m, %x, %c) id s
%w : float32[1,2] = constant [1, 1]
%y : float32[1,1] = fully_connected(%s, %w) id y
return %y
)";
  const Graph graph = Parsed(text);
  const auto statistics =
      Statistics({{"x", {-2, 3}}, {"s", {-1000, 3}}, {"y", {-2000, 6}}});
  EXPECT_FALSE(ClipFills(graph, statistics, {}, v1::INT8));
  EXPECT_EQ(
      FillWarning(graph, statistics, {}, v1::INT8),
      "layer s fills in -1000 of constant 'c' beside data from -2 to 3: the "
      "scale of tensor 's' holds both and costs the data 7.6 bits. Export the "
      "model with a value closer to the data, or keep the layer that reads it "
      "float: a quantization file with layers { layer: \"y\" scheme { "
      "keep_float: ON } }");
  // What stays float loses nothing.
  EXPECT_EQ(FillWarning(graph, statistics, {false, true}, v1::INT8), "");
  // A bit is not worth a word.
  EXPECT_EQ(
      FillWarning(
          graph,
          Statistics({{"x", {-400, 3}}, {"s", {-1000, 3}}, {"y", {-2000, 6}}}),
          {}, v1::INT8),
      "");
}

}  // namespace
}  // namespace edgekiln::compiler
