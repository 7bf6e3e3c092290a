#include "compiler/engines/dla/transfers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

constexpr ImageExtent kTensor = {6, 5, 4};

// Bytes of the tensor in the order in which they lie in a dense buffer.
std::vector<int64_t> Moved(const Slice& slice) {
  std::vector<int64_t> bytes(slice.elements(), -1);
  for (const Transfer& transfer :
       TransfersOf(kTensor, 1, slice, DensePlacement(1, slice))) {
    for (int64_t row = 0; row < transfer.rows; ++row) {
      for (int64_t i = 0; i < transfer.row_bytes; ++i) {
        bytes.at(transfer.sram_offset + row * transfer.sram_pitch + i) =
            transfer.system_offset + row * transfer.system_pitch + i;
      }
    }
  }
  return bytes;
}

TEST(TransfersTest, MoveExactlyTheSlice) {
  const struct {
    Slice slice;
    size_t transfers;
  } kCases[] = {
      {{1, 4, 0, 5, 0, 4}, 1},  // Whole rows.
      {{1, 4, 1, 3, 0, 4}, 1},  // Some columns.
      {{1, 4, 0, 5, 1, 3}, 1},  // Some channels.
      {{1, 4, 2, 5, 1, 2}, 3},  // Some of both: row by row.
  };
  for (const auto& [slice, transfers] : kCases) {
    EXPECT_EQ(TransfersOf(kTensor, 1, slice, DensePlacement(1, slice)).size(),
              transfers);
    std::vector<int64_t> expected;
    for (int64_t h = slice.h_begin; h < slice.h_end; ++h) {
      for (int64_t w = slice.w_begin; w < slice.w_end; ++w) {
        for (int64_t c = slice.c_begin; c < slice.c_end; ++c) {
          expected.push_back((h * kTensor.w + w) * kTensor.c + c);
        }
      }
    }
    EXPECT_EQ(Moved(slice), expected);
  }
}

}  // namespace
}  // namespace edgekiln::compiler::dla
