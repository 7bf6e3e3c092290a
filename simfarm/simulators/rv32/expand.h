#ifndef EK_SIMFARM_SIMULATORS_RV32_EXPAND_H_
#define EK_SIMFARM_SIMULATORS_RV32_EXPAND_H_

#include <cstdint>
#include <optional>

namespace edgekiln::simfarm::rv32 {

// The 32-bit encoding of what the compressed instruction `half` means on RV32.
// Absent if `half` is reserved, or a load or store of double. c.flw and its
// kin expand whether or not the core has F. Hints expand to what they say,
// with rd = x0.
std::optional<uint32_t> Expand(uint16_t half);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_EXPAND_H_
