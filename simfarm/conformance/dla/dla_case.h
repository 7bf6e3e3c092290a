#ifndef EK_SIMFARM_CONFORMANCE_DLA_DLA_CASE_H_
#define EK_SIMFARM_CONFORMANCE_DLA_DLA_CASE_H_

// One stream on one DLA.

#include <cstdint>
#include <string>

namespace edgekiln::simfarm::conformance::dla {

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

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_DLA_CASE_H_
