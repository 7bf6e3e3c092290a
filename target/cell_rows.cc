#include "target/cell_rows.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace edgekiln::target {
namespace {

// Whether a column of a stored row holds its weights with the other sign.
class Signs {
 public:
  Signs(const CellRows& rows, int64_t row) : columns_(rows.sign_columns) {
    if (rows.sign_rows == 0) return;
    const auto block = static_cast<size_t>(row / rows.sign_rows);
    if (block < rows.sign_masks.size()) mask_ = rows.sign_masks[block];
  }
  bool IsFlipped(int64_t column) const {
    return mask_ != 0 && ((mask_ >> (column % columns_)) & 1) != 0;
  }

 private:
  uint32_t mask_ = 0;
  int64_t columns_;
};

char BitOf(int64_t position) {
  return static_cast<char>(0x80 >> (position % 8));
}

// Calls row(stored row, index of its weight of output channel 0).
template <typename Visit>
void ForEachRow(const CellRows& rows, const Visit& row) {
  int64_t index = 0;
  for (int64_t i = 0; i < rows.in_c; ++i) {
    for (int64_t tap = 0; tap < rows.kernel_h * rows.kernel_w; ++tap) {
      row(rows.last_row_first ? rows.rows - 1 - index : index,
          tap * rows.in_c + i);
      ++index;
    }
  }
}

// Set cells, of all bytes.
int64_t CountSet(const char* cells, int64_t bytes) {
  int64_t set = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    set += __builtin_popcount(static_cast<unsigned char>(cells[i]));
  }
  return set;
}

}  // namespace

void PutCells(const CellRows& rows, const int8_t* weights, char* cells) {
  std::memset(cells, 0, static_cast<size_t>(rows.bytes()));
  const int64_t row_bytes = rows.columns / 8;
  const int64_t stride = rows.weights() / rows.out_c;
  ForEachRow(rows, [&](int64_t row, int64_t first) {
    const Signs signs(rows, row);
    char* const positive = cells + 2 * row * row_bytes;
    char* const negative = positive + row_bytes;
    for (int64_t o = 0; o < rows.out_c; ++o) {
      const int8_t weight = weights[o * stride + first];
      if (weight == 0) continue;
      const bool is_negative = (weight < 0) != signs.IsFlipped(o);
      (is_negative ? negative : positive)[o / 8] |= BitOf(o);
    }
  });
}

absl::Status GetCells(const CellRows& rows, const char* cells,
                      int8_t* weights) {
  const int64_t row_bytes = rows.columns / 8;
  const int64_t stride = rows.weights() / rows.out_c;
  int64_t set = 0;
  int64_t both_row = -1;
  int64_t both_column = -1;
  ForEachRow(rows, [&](int64_t row, int64_t first) {
    const Signs signs(rows, row);
    const char* const positive = cells + 2 * row * row_bytes;
    const char* const negative = positive + row_bytes;
    for (int64_t o = 0; o < rows.out_c; ++o) {
      const bool is_positive = (positive[o / 8] & BitOf(o)) != 0;
      const bool is_negative = (negative[o / 8] & BitOf(o)) != 0;
      if (is_positive && is_negative) {
        both_row = row;
        both_column = o;
      }
      set += (is_positive ? 1 : 0) + (is_negative ? 1 : 0);
      const int sign = (is_positive ? 1 : 0) - (is_negative ? 1 : 0);
      weights[o * stride + first] =
          static_cast<int8_t>(signs.IsFlipped(o) ? -sign : sign);
    }
  });
  if (both_row >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a weight has both cells set: row ", both_row, ", column ",
                     both_column));
  }
  if (set != CountSet(cells, rows.bytes())) {
    return absl::InvalidArgumentError("a cell beside the weights is set");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
