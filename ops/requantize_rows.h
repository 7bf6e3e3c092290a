#ifndef EK_OPS_REQUANTIZE_ROWS_H_
#define EK_OPS_REQUANTIZE_ROWS_H_

#include <cstdint>

// What follows 8-bit sums of products, for many outputs at once. One function
// per instruction set, each in a source file of its own that is compiled for
// it; dot.cc chooses.
namespace edgekiln::ops {

// What columns are multiplied with, one entry each.
struct RequantizeColumns {
  const int32_t* bias;
  const int64_t* multiplier;  // Below 2^31.
  const int64_t* shift;       // 1 to 62.
  const int64_t* round;       // 2^(shift - 1); 0: floor.
  // Of all columns.
  int32_t zero_point;
  int32_t low, high;  // Limits, less the zero point.
  bool half_even;     // Else as `round` says.
};

// One column: clamp(((sum + bias) * multiplier + round) >> shift, low, high) +
// zero_point; the sum modulo 2^32, the product in 64 bits and the low 32 of it.
// Half to even takes 1 off `round` and adds the lowest bit of what rounding
// down would give: only the middle between two steps notices.
// Inline in every caller on purpose: each is compiled for other instructions.
static inline uint8_t RequantizeOne(const RequantizeColumns& p, int64_t c,
                                    int32_t sum) {
  const auto biased = static_cast<int32_t>(static_cast<uint32_t>(sum) +
                                           static_cast<uint32_t>(p.bias[c]));
  int64_t product = biased * p.multiplier[c];
  if (p.half_even) product += (product >> p.shift[c] & 1) - 1;
  auto value = static_cast<int32_t>((product + p.round[c]) >> p.shift[c]);
  value = value < p.low ? p.low : value;
  value = value > p.high ? p.high : value;
  return static_cast<uint8_t>(value + p.zero_point);
}

// `rows` rows of sums, `columns` apart, to rows of bytes (of int8 or uint8),
// `out_stride` apart.
using RequantizeKernel = void (*)(const RequantizeColumns& p, int64_t rows,
                                  int64_t columns, const int32_t* sums,
                                  uint8_t* out, int64_t out_stride);

void RequantizeScalar(const RequantizeColumns&, int64_t, int64_t,
                      const int32_t*, uint8_t*, int64_t);
void RequantizeAvx2(const RequantizeColumns&, int64_t, int64_t, const int32_t*,
                    uint8_t*, int64_t);
void RequantizeAvx512(const RequantizeColumns&, int64_t, int64_t,
                      const int32_t*, uint8_t*, int64_t);

}  // namespace edgekiln::ops

#endif  // EK_OPS_REQUANTIZE_ROWS_H_
