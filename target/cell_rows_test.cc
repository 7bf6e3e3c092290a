#include "target/cell_rows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

// Two channels in, three out, a window of 1 x 2: four rows of three weights.
CellRows SmallRows() {
  CellRows rows;
  rows.out_c = 3;
  rows.kernel_h = 1;
  rows.kernel_w = 2;
  rows.in_c = 2;
  rows.rows = 6;
  rows.columns = 32;
  return rows;
}

// [o][h][w][i]
const std::vector<int8_t> kWeights = {1,  0, -1, 1,   // Channel 0.
                                      0,  1, 1,  -1,  // Channel 1.
                                      -1, 0, 0,  1};  // Channel 2.

std::string Put(const CellRows& rows) {
  std::string cells(static_cast<size_t>(rows.bytes()), '\x7f');
  PutCells(rows, kWeights.data(), cells.data());
  return cells;
}

// The first byte of each row of cells, two for each row of weights.
std::vector<int> FirstBytes(const CellRows& rows, const std::string& cells) {
  std::vector<int> bytes;
  for (int64_t at = 0; at < rows.bytes(); at += rows.columns / 8) {
    bytes.push_back(static_cast<unsigned char>(cells[at]));
  }
  return bytes;
}

// Rows are (i, w): (0, 0), (0, 1), (1, 0), (1, 1).
TEST(CellRowsTest, AreBitsOfBothSignsRowByRow) {
  const CellRows rows = SmallRows();
  EXPECT_EQ(rows.bytes(), 48);
  EXPECT_EQ(FirstBytes(rows, Put(rows)),
            (std::vector<int>{0x80, 0x20, 0x40, 0x80, 0x40, 0x00, 0xa0, 0x40, 0,
                              0, 0, 0}));
}

TEST(CellRowsTest, MayBeginWithTheLastRow) {
  CellRows rows = SmallRows();
  rows.last_row_first = true;
  EXPECT_EQ(FirstBytes(rows, Put(rows)),
            (std::vector<int>{0, 0, 0, 0, 0xa0, 0x40, 0x40, 0x00, 0x40, 0x80,
                              0x80, 0x20}));
}

TEST(CellRowsTest, HaveOtherSignsWhereTheMaskSaysSo) {
  CellRows rows = SmallRows();
  rows.sign_rows = 2;
  rows.sign_columns = 2;
  rows.sign_masks = {0b01, 0b10};  // Columns 0 and 2, then 1.
  EXPECT_EQ(FirstBytes(rows, Put(rows)),
            (std::vector<int>{0x20, 0x80, 0xc0, 0x00, 0x00, 0x40, 0xe0, 0x00, 0,
                              0, 0, 0}));
}

TEST(CellRowsTest, AreReadAsTheyWereWritten) {
  CellRows rows = SmallRows();
  rows.last_row_first = true;
  rows.sign_rows = 1;
  rows.sign_columns = 3;
  rows.sign_masks = {1, 2, 3, 4, 5};
  std::vector<int8_t> weights(kWeights.size());
  ASSERT_TRUE(GetCells(rows, Put(rows).data(), weights.data()).ok());
  EXPECT_EQ(weights, kWeights);
}

TEST(CellRowsTest, RefuseCellsThatAreNoWeight) {
  const CellRows rows = SmallRows();
  std::vector<int8_t> weights(kWeights.size());
  std::string both = Put(rows);
  both[4] |= '\x80';  // Row 0, column 0: negative, too.
  EXPECT_EQ(GetCells(rows, both.data(), weights.data()).message(),
            "a weight has both cells set: row 0, column 0");
  for (const size_t at : {size_t{1}, size_t{47}}) {
    std::string beside = Put(rows);
    beside[at] |= '\x01';
    EXPECT_EQ(GetCells(rows, beside.data(), weights.data()).message(),
              "a cell beside the weights is set");
  }
}

}  // namespace
}  // namespace edgekiln::target
