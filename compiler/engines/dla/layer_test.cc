#include "compiler/engines/dla/layer.h"

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

struct RowCase {
  const char* name;
  WindowAxis axis;
  int64_t in_h;
  int64_t first_row;  // Output rows [first_row, end_row).
  int64_t end_row;
  int64_t h_begin;  // Expected input rows.
  int64_t h_end;
  int64_t pad_top;
};

class InputRowsTest : public testing::TestWithParam<RowCase> {};

TEST_P(InputRowsTest, CoverTheWindows) {
  const RowCase& param = GetParam();
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.vertical = param.axis;
  layer.in = {param.in_h, 4, 8};
  const InputSlice input =
      InputOf(layer, {param.first_row, param.end_row, 0, 4, 0, 16});
  EXPECT_EQ(input.slice.h_begin, param.h_begin);
  EXPECT_EQ(input.slice.h_end, param.h_end);
  EXPECT_EQ(input.pad_top, param.pad_top);
  EXPECT_EQ(input.slice.c_begin, 0);
  EXPECT_EQ(input.slice.c_end, 8);
}

const RowCase kRowCases[] = {
    {"Pointwise", {1, 1, 1, 0}, 8, 2, 5, 2, 5, 0},
    {"FirstTileHasPadding", {3, 1, 1, 1}, 8, 0, 4, 0, 5, 1},
    {"MiddleTileHasHalo", {3, 1, 1, 1}, 8, 4, 6, 3, 7, 0},
    {"LastTileEndsAtTheImage", {3, 1, 1, 1}, 8, 6, 8, 5, 8, 0},
    {"Stride", {3, 2, 1, 0}, 9, 1, 3, 2, 7, 0},
    {"Dilation", {3, 1, 2, 2}, 8, 0, 1, 0, 3, 2},
    {"OnlyPadding", {2, 4, 1, 4}, 8, 0, 1, 0, 1, 2},
};

INSTANTIATE_TEST_SUITE_P(All, InputRowsTest, testing::ValuesIn(kRowCases),
                         [](const auto& info) { return info.param.name; });

TEST(InputOfTest, DepthwiseReadsItsOwnChannels) {
  Layer layer;
  layer.op = LayerOp::kDepthwise;
  layer.depth_multiplier = 4;
  layer.in = {8, 8, 6};
  const Slice slice = InputOf(layer, {0, 8, 0, 8, 8, 16}).slice;
  EXPECT_EQ(slice.c_begin, 2);
  EXPECT_EQ(slice.c_end, 4);
}

TEST(InputOfTest, ColumnsAreAsRows) {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.horizontal = {3, 2, 1, 1};
  layer.in = {1, 9, 4};
  const InputSlice left = InputOf(layer, {0, 1, 0, 2, 0, 4});
  EXPECT_EQ(left.slice.w_begin, 0);
  EXPECT_EQ(left.slice.w_end, 4);
  EXPECT_EQ(left.pad_left, 1);
  const InputSlice right = InputOf(layer, {0, 1, 3, 5, 0, 4});
  EXPECT_EQ(right.slice.w_begin, 5);
  EXPECT_EQ(right.slice.w_end, 9);
  EXPECT_EQ(right.pad_left, 0);
}

// Of 2 output channels, 1x1 windows and 4 input channels.
TEST(PackBlockTest, TheFirstInputsHaveTheBiases) {
  Graph graph;
  graph.tensors.resize(2);
  graph.tensors[0].shape = {2, 1, 1, 4};
  graph.tensors[0].data =
      ConstantData(std::string("\x01\x02\x03\x04\x05\x06\x07\x08", 8));
  graph.tensors[1].shape = {2};
  graph.tensors[1].data = ConstantData(std::string("\x10\0\0\0\x20\0\0\0", 8));
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = {1, 1, 4};
  layer.out = {1, 1, 2};
  layer.weights = 0;
  layer.bias = 1;
  layer.dot.multiplier.resize(2);
  const std::string first = PackBlock(graph, layer, {0, 2, 0, 3});
  ASSERT_EQ(first.size(), BlockBytes(layer, 2, 3));
  EXPECT_EQ(first[0], 0x10);
  EXPECT_EQ(first[12], 0x20);
  EXPECT_EQ(first.substr(24), "\x01\x02\x03\x05\x06\x07");
  const std::string second = PackBlock(graph, layer, {0, 2, 3, 4});
  ASSERT_EQ(second.size(), BlockBytes(layer, 2, 1));
  EXPECT_EQ(second[0], 0);
  EXPECT_EQ(second[12], 0);
  EXPECT_EQ(second.substr(24), "\x04\x08");
}

}  // namespace
}  // namespace edgekiln::compiler::dla
