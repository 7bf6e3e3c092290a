#include "ops/squash_table.h"

#include <cmath>
#include <cstdlib>

#include "ops/real_math.h"

namespace edgekiln::ops {

// Each entry is lifted by half of what a line to the next misses in the middle
// between them.
SquashTable::SquashTable() {
  const auto steps = [](double i) { return 65536 * ops::Sigmoid(i / 24); };
  for (int i = 0; i < 255; ++i) {
    const double missed = (steps(i) + steps(i + 1)) / 2 - steps(i + 0.5);
    table_[i] = static_cast<int32_t>(std::round(steps(i) - missed / 2));
  }
  table_[255] = 65535;
}

int64_t SquashTable::At(int64_t place, int bits, int64_t beyond) const {
  const int64_t piece = place >> bits;
  if (piece >= 255) return beyond;
  const int64_t rest = place & ((int64_t{1} << bits) - 1);
  return (int64_t{table_[piece]} << bits) +
         rest * (table_[piece + 1] - table_[piece]);
}

int16_t SquashTable::Sigmoid(int64_t place) const {
  const int64_t y = At(std::abs(place), 9, int64_t{0x7FFF} << 10);
  const int64_t sum = place >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
  return static_cast<int16_t>(sum >> 10);
}

// 2 sigmoid(2x) - 1.
int16_t SquashTable::Tanh(int64_t place) const {
  const int64_t y = At(std::abs(place), 8, int64_t{0xFFFF} << 8);
  const int64_t sum =
      place >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
  return static_cast<int16_t>(sum >> 8);
}

}  // namespace edgekiln::ops
