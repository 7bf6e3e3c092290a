#ifndef EK_BASE_RNG_H_
#define EK_BASE_RNG_H_

// Seeded random numbers, the same on every machine and with every standard
// library (std distributions are not). Not for secrets. Not thread-safe.

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace edgekiln {

// SplitMix64: one 64-bit state, used to spread a seed.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}
  constexpr uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// xoshiro256**, seeded through SplitMix64.
class Rng {
 public:
  explicit constexpr Rng(uint64_t seed) {
    SplitMix64 spread(seed);
    for (uint64_t& word : state_) word = spread.Next();
  }

  // Uniform over all 64-bit values.
  constexpr uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform over 0 .. bound - 1, without bias. `bound` > 0.
  constexpr uint64_t Below(uint64_t bound) {
    // Values below 2^64 mod bound would favour small results.
    const uint64_t reject = (0 - bound) % bound;
    uint64_t value = Next();
    while (value < reject) value = Next();
    return value % bound;
  }

  // Uniform over low .. high, both included. low <= high.
  constexpr int64_t InRange(int64_t low, int64_t high) {
    const uint64_t span =
        static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t step = span == 0 ? Next() : Below(span);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + step);
  }

  // Uniform over the multiples of 2^-53 in [0, 1).
  constexpr double Unit() {
    return static_cast<double>(Next() >> 11) * 0x1.0p-53;
  }

  // Reorders a random-access container.
  template <typename Container>
  constexpr void Shuffle(Container& items) {
    for (uint64_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[Below(i)]);
    }
  }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace edgekiln

#endif  // EK_BASE_RNG_H_
