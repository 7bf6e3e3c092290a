#include "simfarm/simulators/span_map.h"

namespace edgekiln::simfarm {
namespace {

constexpr int kWordBits = 64;

int LowestBit(uint64_t word) { return __builtin_ctzll(word); }
int HighestBit(uint64_t word) { return kWordBits - 1 - __builtin_clzll(word); }

}  // namespace

PositionSet::PositionSet(int64_t size) : size_(size) {
  int64_t bits = size;
  do {
    const int64_t words = (bits + kWordBits - 1) / kWordBits;
    // At least one word, so that there is a top.
    storage_.emplace_back((words > 0 ? words : 1) *
                          static_cast<int64_t>(sizeof(uint64_t)));
    levels_.push_back(reinterpret_cast<uint64_t*>(storage_.back().data()));
    bits = words;
  } while (bits > 1);
}

void PositionSet::AddAbove(int64_t position) {
  for (size_t level = 1; level < levels_.size(); ++level) {
    uint64_t& word = levels_[level][position >> 6];
    const bool known = word != 0;
    word |= uint64_t{1} << (position & 63);
    if (known) return;
    position >>= 6;
  }
}

void PositionSet::RemoveAbove(int64_t position) {
  for (size_t level = 1; level < levels_.size(); ++level) {
    uint64_t& word = levels_[level][position >> 6];
    word &= ~(uint64_t{1} << (position & 63));
    if (word != 0) return;
    position >>= 6;
  }
}

int64_t PositionSet::Before(int64_t position) const {
  // Up to a word that has a bit below, then down along the highest bits.
  --position;
  for (size_t level = 1; level < levels_.size() && position >= 0; ++level) {
    const uint64_t below = levels_[level][position >> 6] &
                           (~uint64_t{0} >> (63 - (position & 63)));
    if (below != 0) {
      position = (position & ~int64_t{63}) + HighestBit(below);
      while (level-- > 0) {
        position = position * kWordBits + HighestBit(levels_[level][position]);
      }
      return position;
    }
    position = (position >> 6) - 1;
  }
  return -1;
}

int64_t PositionSet::After(int64_t position) const {
  ++position;
  int64_t bits = (size_ + kWordBits - 1) / kWordBits;  // Of this level.
  for (size_t level = 1; level < levels_.size() && position < bits; ++level) {
    const uint64_t above =
        levels_[level][position >> 6] & (~uint64_t{0} << (position & 63));
    if (above != 0) {
      position = (position & ~int64_t{63}) + LowestBit(above);
      while (level-- > 0) {
        position = position * kWordBits + LowestBit(levels_[level][position]);
      }
      return position;
    }
    position = (position >> 6) + 1;
    bits = (bits + kWordBits - 1) / kWordBits;
  }
  return size_;
}

}  // namespace edgekiln::simfarm
