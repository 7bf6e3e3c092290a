#ifndef EK_COMPILER_ENGINES_DLA_CYCLE_LIMIT_H_
#define EK_COMPILER_ENGINES_DLA_CYCLE_LIMIT_H_

#include <algorithm>
#include <cstdint>

// What searches count as cycles before a stream is written: tilings may have
// any number of tiles, and a descriptor any timing.
namespace edgekiln::compiler::dla {

// Most cycles of one layer's computation, or of one operand's moves: more than
// an hour at 1 GHz. Sums of eight of them over 2^16 layers fit 64 bits.
inline constexpr int64_t kMostCycles = int64_t{1} << 42;

// -kMostCycles to kMostCycles.
constexpr int64_t LimitCycles(__int128 cycles) {
  return static_cast<int64_t>(
      std::clamp<__int128>(cycles, -kMostCycles, kMostCycles));
}

// `cycles`, `times` times, limited.
constexpr int64_t TimesCycles(int64_t cycles, int64_t times) {
  int64_t product = 0;
  if (__builtin_mul_overflow(cycles, times, &product)) {
    return (cycles < 0) == (times < 0) ? kMostCycles : -kMostCycles;
  }
  return std::clamp(product, -kMostCycles, kMostCycles);
}

// `cycles` of `whole` parts, for `parts` of them, limited. Rounded towards 0.
constexpr int64_t PartOfCycles(int64_t cycles, int64_t parts, int64_t whole) {
  return LimitCycles(__int128{cycles} * parts / whole);
}

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_CYCLE_LIMIT_H_
