#ifndef EK_SIMFARM_CONFORMANCE_DLA_NAIVE_COMMAND_H_
#define EK_SIMFARM_CONFORMANCE_DLA_NAIVE_COMMAND_H_

// What each command of docs/targets/dla.md computes and costs, transcribed from
// sections 4, 5 and 7 of that page and from nothing else: one element at a
// time, in 64 bits, cut to 32 where the page says so.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simfarm/conformance/dla/dla_case.h"
#include "simfarm/conformance/dla/dla_words.h"

namespace edgekiln::simfarm::conformance::dla {

struct NaiveCommand {
  int32_t word = 0;
  uint8_t opcode = 0;
  bool half_even = false;
  int64_t wait = 0;
  std::array<int64_t, kRegisters> r{};

  bool dma() const { return opcode == kDmaRead || opcode == kDmaWrite; }
};

// The memories of the naive chip. Accesses outside throw std::out_of_range.
struct NaiveMemory {
  std::vector<uint8_t> sram;
  std::vector<bool> sram_written;
  std::vector<uint8_t> flash;
  std::vector<uint8_t> ram;

  int64_t Load8(int64_t address) const;
  int64_t Load32(int64_t address) const;
  void Store8(int64_t address, int64_t value);
  void Store32(int64_t address, int64_t value);
  uint8_t& System(int64_t address);
};

// Cycles of its unit.
int64_t NaiveOccupancy(const NaiveCommand& command, const DlaChip& chip);

void NaiveExecute(const NaiveCommand& command, NaiveMemory& memory);

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_NAIVE_COMMAND_H_
