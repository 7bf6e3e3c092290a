#ifndef EK_SIMFARM_CONFORMANCE_DLA_DLA_WORDS_H_
#define EK_SIMFARM_CONFORMANCE_DLA_DLA_WORDS_H_

// The numbers of docs/targets/dla.md, sections 2 and 3, written down once more:
// the conformance suite must not learn them from the descriptor it checks.

#include <cstdint>

namespace edgekiln::simfarm::conformance::dla {

enum DlaOpcode : uint8_t {
  kRegWrite = 0x01,
  kEnd = 0x7f,
  kConv = 0x10,
  kConvRelu = 0x11,
  kDepthConv = 0x12,
  kMatMul = 0x13,
  kRelu = 0x20,
  kLeakyRelu = 0x21,
  kPool = 0x22,
  kAbs = 0x30,
  kMin = 0x31,
  kMax = 0x32,
  kAdd = 0x33,
  kAdd32 = 0x34,
  kShift32 = 0x35,
  kRequant = 0x36,
  kDmaRead = 0x40,
  kDmaWrite = 0x41,
};

enum DlaIndex : uint8_t {
  kInAddr = 0,
  kIn2Addr = 1,
  kWeightAddr = 2,
  kTableAddr = 3,
  kOutAddr = 4,
  kInH = 5,
  kInW = 6,
  kInC = 7,
  kOutH = 8,
  kOutW = 9,
  kOutC = 10,
  kKernelH = 11,
  kKernelW = 12,
  kStrideH = 13,
  kStrideW = 14,
  kDilationH = 15,
  kDilationW = 16,
  kPadTop = 17,
  kPadLeft = 18,
  kInRowPitch = 19,
  kInPixelPitch = 20,
  kOutRowPitch = 21,
  kOutPixelPitch = 22,
  kIn2RowPitch = 23,
  kIn2PixelPitch = 24,
  kInZeroPoint = 25,
  kIn2ZeroPoint = 26,
  kOutZeroPoint = 27,
  kClampMin = 28,
  kClampMax = 29,
  kDepthMultiplier = 30,
  kInMultiplier = 31,
  kInShift = 32,
  kIn2Multiplier = 33,
  kIn2Shift = 34,
  kOutMultiplier = 35,
  kOutShift = 36,
  kLeftShift = 37,
  kFlags = 38,
  kPoolKind = 39,
  kDmaSystemAddr = 40,
  kDmaSramAddr = 41,
  kDmaRowBytes = 42,
  kDmaRows = 43,
  kDmaSystemPitch = 44,
  kDmaSramPitch = 45,
  kWeightZeroPoint = 46,
  kRegisters = 47,
};

inline constexpr uint64_t kRamBase = 0x80000000;

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_DLA_WORDS_H_
