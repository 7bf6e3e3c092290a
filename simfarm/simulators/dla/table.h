#ifndef EK_SIMFARM_SIMULATORS_DLA_TABLE_H_
#define EK_SIMFARM_SIMULATORS_DLA_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/simulators/dla/instruction.h"

namespace edgekiln::simfarm::dla {

// Wide loads of a table reach up to a multiple of so many channels.
inline constexpr int64_t kTableAlignment = 64;

// A per-channel table. What follows the last channel up to the
// alignment does not matter.
struct Table {
  std::vector<int32_t> bias;
  std::vector<int32_t> multiplier;
  std::vector<int32_t> n;  // 31 - shift.
};

// Reads the instruction's table, which starts at `entries`: in SRAM, or where
// that part of it comes from. FAILED_PRECONDITION for a negative multiplier or
// a shift outside [-31, 30]; in int32 output mode only the biases are read.
absl::Status ReadTable(const Instruction& instruction,
                       const StreamContext& context, const uint8_t* entries,
                       Table* table);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_TABLE_H_
