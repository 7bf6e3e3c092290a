#ifndef EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
#define EK_SIMFARM_SIMULATORS_DLA_CHECK_H_

// The checks of a run that need to know what happened before: bytes nobody
// wrote, and accesses of the two units that nothing orders.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/engine_stream.h"
#include "simfarm/simulators/system_memory.h"

namespace edgekiln::simfarm::dla {

// Follows one execution in stream order. Not thread-safe.
class AccessChecker {
 public:
  // `context` and `memory` must outlive this object.
  AccessChecker(int64_t sram_bytes, const StreamContext& context,
                SystemMemory& memory);

  // Checks the next instruction of the stream and records what it writes. Call
  // before executing it. FAILED_PRECONDITION names command, address, layer.
  absl::Status Check(const Instruction& instruction);

  // Offset of the first SRAM byte of the range nothing wrote, or -1.
  int64_t FindUndefined(int64_t address, int64_t size) const;

 private:
  // What is known of a byte of SRAM. Commands are numbered from 1 per unit; a
  // write makes earlier accesses irrelevant: whoever is ordered after it is
  // ordered after them.
  struct Byte {
    uint32_t write;         // 0: never. Unit in the lowest bit.
    uint32_t compute_read;  // Since the write.
    uint32_t dma_read;
  };

  absl::Status CheckCompute(const Instruction& instruction);
  absl::Status CheckDma(const Instruction& instruction);
  absl::Status Read(const Instruction& instruction, int64_t address,
                    int64_t bytes, bool record);
  absl::Status Write(const Instruction& instruction, int64_t address,
                     int64_t bytes);

  const StreamContext& context_;
  SystemMemory& memory_;
  LazyBytes storage_;
  Byte* bytes_;
  int64_t sram_bytes_;
  uint32_t compute_number_ = 0;
  uint32_t dma_number_ = 0;
  // Commands of the other unit that are known to be complete: waits add up.
  uint32_t compute_knows_dma_ = 0;
  uint32_t dma_knows_compute_ = 0;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
