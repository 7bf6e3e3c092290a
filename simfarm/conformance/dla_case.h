#ifndef EK_SIMFARM_CONFORMANCE_DLA_CASE_H_
#define EK_SIMFARM_CONFORMANCE_DLA_CASE_H_

// One stream on one chip, and what came of it: the common ground of all models
// that the conformance suite compares.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace edgekiln::simfarm::conformance {

// The numbers of docs/targets/dla.md that a descriptor can change.
struct DlaChip {
  int64_t pes = 64;
  bool output_parallel = true;
  bool blocking_dma = false;  // Nothing overlaps.
  int64_t sram_bytes = 4096;
  int64_t fill_cycles = 8;
  int64_t dma_bytes_per_cycle = 16;
  int64_t dma_setup_cycles = 20;
  int64_t queue_depth = 4;
  int64_t register_write_cycles = 1;
  int64_t decode_cycles = 4;
};

struct DlaCase {
  DlaChip chip;
  std::string flash;  // From address 0.
  std::string ram;    // Initial content, from 0x80000000; all defined.
  std::string code;
};

// Cycles that belong to a command word.
struct OwnedCycles {
  int64_t compute = 0;
  int64_t stall = 0;
  bool operator==(const OwnedCycles&) const = default;
};

struct DlaOutcome {
  // Not empty: the program was refused, and nothing below is set.
  std::string error;
  int64_t cycles = 0;
  int64_t busy_cycles = 0;
  std::map<int32_t, OwnedCycles> owned;  // By word; no zero entries.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  std::string ram;  // Afterwards.
  // SRAM afterwards, 0 where nothing was written.
  std::string sram;
};

// Anything that claims to be a DLA.
using DlaModel = std::function<DlaOutcome(const DlaCase&)>;

// "" if both outcomes are the same (two refusals are, whatever they say), else
// the first difference.
std::string FirstDifference(const DlaOutcome& a, const DlaOutcome& b);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_DLA_CASE_H_
