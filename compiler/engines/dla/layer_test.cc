#include "compiler/engines/dla/layer.h"

#include "compiler/engines/dla/tile_search.h"
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
      InputOf(layer, {param.first_row, param.end_row, 0, 16});
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
  const Slice slice = InputOf(layer, {0, 8, 8, 16}).slice;
  EXPECT_EQ(slice.c_begin, 2);
  EXPECT_EQ(slice.c_end, 4);
}

TEST(TilesOfTest, CoverTheOutputInBothOrders) {
  Layer layer;
  layer.out = {5, 3, 7};
  for (const auto order : {TileOrder::kChannelsOuter, TileOrder::kRowsOuter}) {
    int64_t covered = 0;
    for (const Slice& tile : TilesOf(layer, {2, 3, order})) {
      covered += tile.rows() * tile.channels();
    }
    EXPECT_EQ(covered, 35);
  }
  const std::vector<Slice> rows_outer =
      TilesOf(layer, {2, 3, TileOrder::kRowsOuter});
  EXPECT_EQ(rows_outer[1], (Slice{0, 2, 3, 6}));
  const std::vector<Slice> channels_outer =
      TilesOf(layer, {2, 3, TileOrder::kChannelsOuter});
  EXPECT_EQ(channels_outer[1], (Slice{2, 4, 0, 3}));
}

TEST(SmallestSramTest, IsOneRowOfOneChannel) {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = {8, 10, 4};
  layer.out = {8, 10, 16};
  layer.vertical = layer.horizontal = {3, 1, 1, 1};
  // Table entry + weights, three input rows, one output row.
  EXPECT_EQ(SmallestSram(layer), 12 + 36 + 3 * 10 * 4 + 10);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
