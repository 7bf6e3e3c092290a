#include "ops/requantize_rows.h"

// What every machine can run.
namespace edgekiln::ops {

void RequantizeScalar(const RequantizeColumns& p, int64_t rows, int64_t columns,
                      const int32_t* sums, uint8_t* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[r * out_stride + c] = RequantizeOne(p, c, sums[r * columns + c]);
    }
  }
}

}  // namespace edgekiln::ops
