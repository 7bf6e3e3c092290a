#include "compiler/engines/dla/image_extent.h"

#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
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
  }
}

}  // namespace
}  // namespace edgekiln::compiler::dla
