#include "simfarm/simulators/rv32/block.h"

#include <array>

namespace edgekiln::simfarm::rv32 {
namespace {

using PairTable = std::array<std::array<uint16_t, kNumOps>, kNumOps>;

constexpr PairTable MakePairs() {
  PairTable table = {};
  uint16_t next = kFirstPair;
#define EK_RV32_PAIR(first, second)        \
  table[static_cast<size_t>(Op::k##first)] \
       [static_cast<size_t>(Op::k##second)] = next++;
  EK_RV32_PAIRS(EK_RV32_PAIR)
#undef EK_RV32_PAIR
  return table;
}

constexpr PairTable kPairs = MakePairs();

}  // namespace

Handler FindPair(Op first, Op second) {
  const uint16_t pair =
      kPairs[static_cast<size_t>(first)][static_cast<size_t>(second)];
  return static_cast<Handler>(pair != 0 ? pair : static_cast<uint16_t>(first));
}

}  // namespace edgekiln::simfarm::rv32
