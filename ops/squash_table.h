#ifndef EK_OPS_SQUASH_TABLE_H_
#define EK_OPS_SQUASH_TABLE_H_

#include <array>
#include <cstdint>

namespace edgekiln::ops {

// Sigmoid and tanh as TensorFlow Lite's integer kernels interpolate them in a
// table of 256 entries (docs/numerics.md, 3.12). `place` counts steps of
// 1 / 12288, so that 2^17 is 32 / 3; results are in steps of 2^-15.
class SquashTable {
 public:
  SquashTable();

  int16_t Sigmoid(int64_t place) const;
  int16_t Tanh(int64_t place) const;

 private:
  // At `place` in pieces of 2^bits, in steps of 2^-(16 + bits).
  int64_t At(int64_t place, int bits, int64_t beyond) const;

  std::array<int32_t, 256> table_;  // sigmoid(i / 24) in steps of 2^-16.
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_SQUASH_TABLE_H_
