#include "compiler/engines/dla/tiling.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

Chip TestChip() {
  const auto target = target::ResolveTarget("extends: \"dla-64-o-512k\"");
  return Chip::Create(target->machine(), 0, 1 << 19).value();
}

TEST(TilesOfTest, CoverTheOutputInBothOrders) {
  Layer layer;
  layer.out = {5, 3, 7};
  Tiling tiling = {.rows = 2, .columns = 2, .channels = 3};
  for (const auto order :
       {TileOrder::kChannelsOuter, TileOrder::kPixelsOuter}) {
    tiling.order = order;
    int64_t covered = 0;
    for (const Slice& tile : TilesOf(layer, tiling)) {
      covered += tile.elements();
    }
    EXPECT_EQ(covered, 5 * 3 * 7);
  }
  EXPECT_EQ(TilesOf(layer, tiling)[1], (Slice{0, 2, 0, 2, 3, 6}));
  EXPECT_EQ(TilesOf(layer, tiling)[3], (Slice{0, 2, 2, 3, 0, 3}));
  tiling.order = TileOrder::kChannelsOuter;
  EXPECT_EQ(TilesOf(layer, tiling)[1], (Slice{0, 2, 2, 3, 0, 3}));
  EXPECT_EQ(TilesOf(layer, tiling)[2], (Slice{2, 4, 0, 2, 0, 3}));
}

Layer Convolution() {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = {8, 10, 4};
  layer.out = {8, 10, 16};
  layer.vertical = layer.horizontal = {3, 1, 1, 1};
  return layer;
}

TEST(SmallestSramTest, IsOnePixelOfOneChannel) {
  // Table entry and weights, a window of 3x3x4, the output.
  EXPECT_EQ(SmallestSram(TestChip(), Convolution()), 12 + 36 + 36 + 1);
}

TEST(SmallestSramTest, WithoutCutsOfRowsIsAllOfOneChannel) {
  const Layer layer = Convolution();
  const Chip chip = TestChip();
  ASSERT_TRUE(CanCutInputs(chip, layer, {}));
  EXPECT_FALSE(CanCutInputs(chip, layer, {.all_rows_up_to = 100}));
  EXPECT_FALSE(CanCutColumns(chip, layer, {.all_rows_up_to = 100}));
  // All rows and columns of one channel.
  EXPECT_EQ(SmallestSram(chip, layer, {.all_rows_up_to = 100}),
            12 + 36 + 8 * 10 * 4 + 8 * 10);
}

TEST(TileBytesTest, AWholeInputIsAllOfIt) {
  const Layer layer = Convolution();
  Tiling tiling = {.rows = 2, .columns = 10, .channels = 16, .inputs = 4};
  const int64_t block = 16 * (12 + 36);
  EXPECT_EQ(TileBytes(layer, tiling, {}), block + 4 * 10 * 4 + 2 * 10 * 16);
  tiling.whole_input = true;
  EXPECT_EQ(TileBytes(layer, tiling, {}), block + 8 * 10 * 4 + 2 * 10 * 16);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
