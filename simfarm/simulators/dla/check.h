#ifndef EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
#define EK_SIMFARM_SIMULATORS_DLA_CHECK_H_

// The checks of a run that need to know what happened before: bytes nobody
// wrote, and accesses of the two units that nothing orders.

#include <cstdint>

#include "absl/status/status.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/engine_stream.h"
#include "simfarm/simulators/span_map.h"
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
  // What the unit of a command knows.
  struct Unit {
    bool dma = false;
    uint32_t own_bit = 0;
    uint32_t number = 0;  // Of the command.
    uint32_t known = 0;   // Commands of the other unit known to be complete.
  };

  absl::Status CheckCompute(const Instruction& instruction);
  absl::Status CheckDma(const Instruction& instruction);
  absl::Status CheckSystemRead(const Instruction& instruction) const;
  Unit UnitOf(const Instruction& instruction) const;
  absl::Status Read(const Instruction& instruction, int64_t address,
                    int64_t bytes, bool record);
  absl::Status Write(const Instruction& instruction, int64_t address,
                     int64_t bytes);

  // What is known of a byte of SRAM. Commands are numbered from 1 per unit; a
  // write makes earlier accesses irrelevant: whoever is ordered after it is
  // ordered after them.
  struct ByteState {
    uint32_t write = 0;         // 0: never. Unit in the lowest bit.
    uint32_t compute_read = 0;  // Since the write.
    uint32_t dma_read = 0;

    bool operator==(const ByteState& other) const {
      return write == other.write && compute_read == other.compute_read &&
             dma_read == other.dma_read;
    }
  };

  absl::Status ReadError(const Instruction& instruction, const Unit& unit,
                         int64_t address, const ByteState& state) const;
  absl::Status WriteError(const Instruction& instruction, const Unit& unit,
                          int64_t address, const ByteState& state) const;
  ByteState Settled(ByteState state) const;

  const StreamContext& context_;
  SystemMemory& memory_;
  SpanMap<ByteState> sram_;
  uint32_t compute_number_ = 0;
  uint32_t dma_number_ = 0;
  // Commands of the other unit that are known to be complete: waits add up.
  uint32_t compute_knows_dma_ = 0;
  uint32_t dma_knows_compute_ = 0;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
