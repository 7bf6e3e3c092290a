#include "compiler/ir/image_extent.h"

#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(ImageExtentTest, OnlyAnImageOfBatchOneHasColumns) {
  const struct {
    std::vector<int64_t> shape;
    ImageExtent extent;
  } kCases[] = {
      {{}, {1, 1, 1}},
      {{5}, {1, 1, 5}},
      {{3, 5}, {3, 1, 5}},
      {{1, 3, 5}, {3, 1, 5}},
      {{2, 3, 5}, {6, 1, 5}},
      {{1, 2, 3, 5}, {2, 3, 5}},
      {{2, 2, 3, 5}, {12, 1, 5}},
      {{1, 1, 2, 3, 5}, {6, 1, 5}},
      {{2, 1, 2, 3, 1, 5}, {12, 1, 5}},
      {{0, 2, 3, 5}, {0, 1, 5}},
      {{1, 0, 3, 5}, {0, 3, 5}},
      {{4, 0}, {4, 1, 0}},
  };
  for (const auto& row : kCases) {
    const ImageExtent extent = ImageExtentOf(row.shape);
    EXPECT_EQ(extent, row.extent) << testing::PrintToString(row.shape);
    EXPECT_TRUE(Contains(extent, WholeSlice(extent)));
  }
}

TEST(ImageExtentTest, ASliceMayNotLeaveTheTensor) {
  const ImageExtent extent = {2, 3, 5};
  EXPECT_TRUE(Contains(extent, {}));
  for (int i = 0; i < 6; ++i) {
    v1::TensorSlice slice = WholeSlice(extent);
    if (i == 0) slice.set_h_begin(-1);
    if (i == 1) slice.set_h_end(3);
    if (i == 2) slice.set_w_begin(-1);
    if (i == 3) slice.set_w_end(4);
    if (i == 4) slice.set_c_begin(6);
    if (i == 5) slice.set_c_end(6);
    EXPECT_FALSE(Contains(extent, slice)) << i;
  }
}

TEST(ImageExtentTest, DenseLayoutCountsBytes) {
  const v1::SliceLayout layout = DenseLayout({2, 3, 5}, 4);
  EXPECT_EQ(layout.pixel_pitch_bytes(), 20);
  EXPECT_EQ(layout.row_pitch_bytes(), 60);
}

}  // namespace
}  // namespace edgekiln::compiler
