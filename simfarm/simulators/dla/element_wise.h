#ifndef EK_SIMFARM_SIMULATORS_DLA_ELEMENT_WISE_H_
#define EK_SIMFARM_SIMULATORS_DLA_ELEMENT_WISE_H_

// Execution of the commands whose output element i depends on input element i
// only, and of POOL.

#include <cstdint>

#include "absl/status/status.h"
#include "simfarm/simulators/dla/instruction.h"

namespace edgekiln::simfarm::dla {

// `instruction` passed CheckLimits(). Errors as of ReadTable() for REQUANT.
absl::Status ExecuteElementWise(const Instruction& instruction,
                                const StreamContext& context, uint8_t* sram);

void ExecutePool(const Instruction& instruction, uint8_t* sram);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_ELEMENT_WISE_H_
