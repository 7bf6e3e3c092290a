#ifndef EK_TARGET_CELL_ROWS_H_
#define EK_TARGET_CELL_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

// Weights -1, 0 and 1 as an in-memory array holds them: two cells each, in rows
// of bits. docs/targets/register_job.md, section 4.
namespace edgekiln::target {

struct CellRows {
  // Of the weights, [out_c, kernel_h, kernel_w, in_c].
  int64_t out_c = 0;
  int64_t kernel_h = 0;
  int64_t kernel_w = 0;
  int64_t in_c = 0;
  // As they are stored, padding included.
  int64_t rows = 0;
  int64_t columns = 0;  // A multiple of 32.
  bool last_row_first = false;
  // RegisterJobs.CellRows.
  int64_t sign_rows = 0;
  int64_t sign_columns = 0;
  std::vector<uint32_t> sign_masks;

  int64_t bytes() const { return rows * columns / 4; }
  int64_t weights() const { return out_c * kernel_h * kernel_w * in_c; }
};

// Fills bytes() bytes at `cells` from weights() values at `weights`, which are
// dense. Bit 0 of a row is the highest one of its first byte.
void PutCells(const CellRows& rows, const int8_t* weights, char* cells);

// The inverse. INVALID_ARGUMENT names a weight with both cells set, or a cell
// of the padding that is.
absl::Status GetCells(const CellRows& rows, const char* cells, int8_t* weights);

}  // namespace edgekiln::target

#endif  // EK_TARGET_CELL_ROWS_H_
